"""Threads as JSON lines: one LangChain message a line, as `messages_to_dict` writes it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, messages_from_dict, messages_to_dict
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Overwrite

from longthread.graph.lineage import standing, transcript
from longthread.graph.threads import Graph, config_of, describe, exists, reader
from longthread.nodes.state import merge_messages
from longthread.tools.errors import ThreadError
from longthread.tools.text import is_storable, one_line, storable
from longthread.tools.todo import replay_todos

KINDS = ("human", "ai", "system", "tool")


def export_thread(
    graph_or_saver: Graph | BaseCheckpointSaver[Any], thread: str, *, live: bool = False
) -> Iterator[str]:
    """The whole conversation, or with `live` what the next request is made from, one JSON line each.

    Raises:
        ThreadNotFound: there is no such thread.
    """
    messages = describe(graph_or_saver, thread).messages if live else transcript(graph_or_saver, thread)
    for record in messages_to_dict(messages):
        yield json.dumps(record, ensure_ascii=False) + "\n"


def import_thread(
    graph_or_saver: Graph | BaseCheckpointSaver[Any], thread: str, lines: Iterable[str]
) -> list[AnyMessage]:
    """Begin a thread with the messages of an export, todos restored from their last `todo_write`.

    Raises:
        ThreadError: a line that holds no message, no line at all, or a thread of that name exists.
    """
    graph = reader(graph_or_saver) if isinstance(graph_or_saver, BaseCheckpointSaver) else graph_or_saver
    if exists(graph.checkpointer, thread):  # type: ignore[arg-type]  # a graph that is written to has a saver
        raise ThreadError(f"a thread is named {thread!r} already; choose another name for the import")
    messages = merge_messages(None, [read_messages(lines)])
    if not messages:
        raise ThreadError("there is no message to import; each line must hold one, as `longthread export` writes it")
    update = {"messages": Overwrite(messages), "todos": Overwrite(replay_todos(messages))}
    graph.update_state(config_of(thread), update, as_node=standing(messages))
    return messages


def read_messages(lines: Iterable[str]) -> list[AnyMessage]:
    """The messages of JSON lines; empty lines are passed over.

    Raises:
        ThreadError: names the line that holds no message.
    """
    messages, seen = [], set[str | None]()
    for message in (_message(number, line) for number, line in enumerate(lines, 1) if line.strip()):
        # Dumps that were joined may use an id twice; the second message gets one of its own.
        messages.append(message.model_copy(update={"id": None}) if message.id in seen else message)
        seen.add(message.id)
    return messages


def _message(number: int, line: str) -> AnyMessage:
    try:
        record = json.loads(line)
        if record["type"] not in KINDS:
            raise ValueError(f"type {record['type']!r} is none of {', '.join(KINDS)}")
        message = cast("Sequence[AnyMessage]", messages_from_dict([cast("dict[str, Any]", storable(record))]))[0]
        if not is_storable(getattr(message, "usage_metadata", None)):
            raise ValueError("its usage_metadata has a number beyond 64 bit")
        return message
    except Exception as error:  # LangChain's constructors fail in many ways on what is no message
        raise ThreadError(
            f"line {number} holds no message: {one_line(str(error) or type(error).__name__, 120)}; each line must be "
            'an object {"type": …, "data": {…}} as LangChain writes it'
        ) from error
