"""What is stored of threads: a list of them, and one in detail. Needs no model and no key."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Interrupt, StateSnapshot

from longthread.graph.agent import create_agent
from longthread.graph.scripted import ScriptedChatModel
from longthread.nodes.history.rebuild import last_summary
from longthread.nodes.history.speakers import is_users
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.state import CompactionState, Occupancy, SegmentRecord
from longthread.nodes.turns import is_open
from longthread.tools.errors import LongthreadError, StoreUnusable, ThreadNotFound, ThreadTooNew
from longthread.tools.results import text_of
from longthread.tools.text import one_line
from longthread.tools.todo import TodoItem

Graph = CompiledStateGraph[Any, Any, Any, Any]
Status = Literal["done", "unfinished", "waiting", "damaged"]


@dataclass(frozen=True)
class ThreadInfo:
    """A thread on one line."""

    thread: str
    status: Status
    """`done`: the last turn has its answer. `unfinished`: it has none yet and can be resumed (see `reopen`).
    `waiting`: a run stands at a question to the user. `damaged`: it cannot be read, or is of a newer
    longthread; the title says why."""
    updated: str
    """When the newest checkpoint was written, ISO 8601 in UTC."""
    title: str
    """The user's first words, at most 80 characters."""
    todos: list[TodoItem]
    occupancy: Occupancy | None
    segments: int
    """Compactions so far."""
    metadata: dict[str, Any]
    """What the newest run put into `config["metadata"]`; of the command line `workspace` and `model` among it."""


@dataclass(frozen=True)
class ThreadDetails:
    """A thread with everything that its newest checkpoint holds."""

    info: ThreadInfo
    messages: list[AnyMessage]
    """The live history: since the last compaction, its summary included."""
    segments: list[SegmentRecord]
    compaction: CompactionState
    questions: list[Interrupt]
    """What a waiting run asks the user."""
    pending: list[str]
    """Nodes that an unfinished run goes on with; none where its turn stands open without one (see `reopen`)."""


def list_threads(saver: BaseCheckpointSaver[Any]) -> list[ThreadInfo]:
    """Every thread of the store, the last used first.

    Raises:
        StoreUnusable: the store cannot be read.
    """
    graph = reader(saver)
    infos = [_info(graph, thread) for thread in thread_names(saver)]
    return sorted(infos, key=lambda info: info.updated, reverse=True)


def _info(graph: Graph, thread: str) -> ThreadInfo:
    """One line, also for a thread whose rows are damaged, so that the others can be listed."""
    try:
        return describe(graph, thread).info
    except (StoreUnusable, ThreadTooNew) as error:
        return ThreadInfo(thread, "damaged", "", str(error), [], None, 0, {})


def describe(graph_or_saver: Graph | BaseCheckpointSaver[Any], thread: str) -> ThreadDetails:
    """One thread, read through your own graph or through any saver.

    Raises:
        ThreadNotFound: names the threads that are spelled like it.
        StoreUnusable: it cannot be read.
    """
    graph = reader(graph_or_saver) if isinstance(graph_or_saver, BaseCheckpointSaver) else graph_or_saver
    with readable(thread):
        snapshot = graph.get_state(config_of(thread))
    if not snapshot.values and not snapshot.created_at:
        raise _not_found(graph.checkpointer, thread)
    return _details(thread, snapshot)


def config_of(thread: str, **more: Any) -> RunnableConfig:
    """The config that names a thread."""
    return {"configurable": {"thread_id": thread}, **more}  # type: ignore[typeddict-item]  # keys of RunnableConfig


def exists(saver: BaseCheckpointSaver[Any], thread: str) -> bool:
    """Whether the store holds a thread of this name."""
    with readable(thread):
        return saver.get_tuple(config_of(thread)) is not None


def thread_names(saver: BaseCheckpointSaver[Any]) -> list[str]:
    """Names of all threads, in no order."""
    with readable():
        if isinstance(saver, SqliteSaver):
            with saver.cursor(transaction=False) as cursor:
                cursor.execute("SELECT DISTINCT thread_id FROM checkpoints WHERE checkpoint_ns = ''")
                return [str(row[0]) for row in cursor.fetchall()]
        stored = (found.config["configurable"] for found in saver.list(None))
        return list(dict.fromkeys(str(row["thread_id"]) for row in stored if not row.get("checkpoint_ns")))


def reader(saver: BaseCheckpointSaver[Any]) -> Graph:
    """A graph with the agent's channels and a model that is never asked, to read states with."""
    return create_agent(ScriptedChatModel([]), compaction=CompactionConfig(), checkpointer=saver)


@contextmanager
def readable(thread: str | None = None) -> Iterator[None]:
    """Whatever goes wrong while a store is read, as the one error that a caller handles."""
    try:
        yield
    except StoreUnusable as error:
        raise (error if thread is None else StoreUnusable(f"thread {thread!r} cannot be read: {error}")) from error
    except LongthreadError:
        raise
    # A damaged row fails in whichever way its bytes are wrong: SQLite's, msgpack's, JSON's, LangGraph's.
    except Exception as error:
        what = f"thread {thread!r}" if thread is not None else "the thread store"
        delete = f"delete it with `{shlex.join(['longthread', 'delete', thread])}`, " if thread else ""
        raise StoreUnusable(
            f"{what} cannot be read: {_why(error)}; the file may be damaged or of "
            f"another program: choose another with --db, {delete}or restore a copy"
        ) from error


def _why(error: Exception) -> str:
    """What the store said; of values that are not what they should be Python's words help nobody."""
    if isinstance(error, TypeError | ValueError | LookupError | AttributeError | AssertionError):
        return "what it holds is damaged"
    return one_line(str(error) or type(error).__name__)


def _not_found(saver: Any, thread: str) -> ThreadNotFound:
    names = thread_names(saver) if isinstance(saver, BaseCheckpointSaver) else []
    alike = [*(name for name in names if name.startswith(thread)), *get_close_matches(thread, names)][:3]
    hint = f"did you mean {' or '.join(map(repr, dict.fromkeys(alike)))}? " if alike else ""
    return ThreadNotFound(f"no thread is named {thread!r}; {hint}`longthread threads` lists them")


def _details(thread: str, snapshot: StateSnapshot) -> ThreadDetails:
    values: Mapping[str, Any] = snapshot.values
    questions = [interrupt for task in snapshot.tasks for interrupt in task.interrupts]
    segments = list(values.get("segments") or [])
    unfinished = snapshot.tasks or is_open(values.get("messages") or [])
    info = ThreadInfo(
        thread=thread,
        status="waiting" if questions else "unfinished" if unfinished else "done",
        updated=snapshot.created_at or "",
        title=title_of(values.get("messages") or []),
        todos=list(values.get("todos") or []),
        occupancy=values.get("occupancy"),
        segments=len(segments),
        metadata=dict(snapshot.metadata or {}),
    )
    pending = [task.name for task in snapshot.tasks]
    messages = list(values.get("messages") or [])
    compaction = cast(CompactionState, values.get("compaction") or {})
    return ThreadDetails(info, messages, segments, compaction, questions, pending)


def title_of(messages: Sequence[AnyMessage]) -> str:
    """The user's first words, from the messages or from what the summary carries of them."""
    summary = last_summary(messages)
    appendix = summary.additional_kwargs.get("appendix") if summary else None
    pinned = appendix.get("pinned") if isinstance(appendix, dict) else None
    first = pinned[0]["text"] if pinned else next((text_of(m) for m in messages if is_users(m)), "")
    return one_line(first, 80)
