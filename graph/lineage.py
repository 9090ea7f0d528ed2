"""A thread over all its segments: the whole conversation, and forks from before a compaction."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Overwrite

from longthread.graph.threads import Graph, config_of, describe, exists, readable, reader, thread_names
from longthread.nodes.history.rebuild import REBUILT, SUMMARY
from longthread.nodes.history.speakers import source_of
from longthread.nodes.state import SegmentRecord
from longthread.nodes.turns import is_open
from longthread.tools.errors import StoreUnusable, ThreadError, ThreadTooNew

DELTAS = ("messages", "todos", "tracker", "segments")
LANGGRAPHS = frozenset({"source", "step", "parents", "thread_id", "run_id", "counters_since_delta_snapshot"})


def transcript(graph_or_saver: Graph | BaseCheckpointSaver[Any], thread: str) -> list[AnyMessage]:
    """Every message of the thread over all its segments, each once and whole, in order.

    Without what compactions put in (`additional_kwargs["source"]` tells); but where the checkpoint
    before one is gone, its summary stands for what is missing.

    Raises:
        ThreadNotFound: there is no such thread.
        StoreUnusable: it cannot be read.
    """
    graph = graph_of(graph_or_saver)
    now = describe(graph, thread)
    return whole([*(before(graph, thread, segment) for segment in now.segments), now.messages])


def before(graph: Graph, thread: str, segment: SegmentRecord) -> list[AnyMessage]:
    """The live history as it was before a compaction; empty where it is no longer stored."""
    return list(_values_before(graph, thread, segment).get("messages") or [])


def _values_before(graph: Graph, thread: str, segment: SegmentRecord) -> dict[str, Any]:
    if not segment["compacted_from"]:
        return {}
    config = config_of(segment.get("thread", thread))
    config["configurable"]["checkpoint_id"] = segment["compacted_from"]
    with readable(thread):
        return dict(graph.get_state(config).values)


def whole(histories: Iterable[Sequence[AnyMessage]]) -> list[AnyMessage]:
    """The conversation that live histories show together, the oldest first; of a message the first form counts."""
    found: dict[str | None, AnyMessage] = {}
    missing = False
    for history in histories:
        for message in history:
            source = source_of(message)
            if source not in REBUILT or (missing and source == SUMMARY):
                found.setdefault(message.id, message)
        missing = not history
    return list(found.values())


def fork(graph_or_saver: Graph | BaseCheckpointSaver[Any], thread: str, new: str, segment: int | None = None) -> None:
    """Begin the thread `new` where `thread` is now, or where it was before its compaction number `segment`.

    The old thread stays as it is. A turn that was under way there goes on when `new` is resumed.

    Raises:
        ThreadNotFound: there is no such thread.
        ThreadError: `new` exists, or there is no such segment, or what stood before it is gone.
    """
    graph = graph_of(graph_or_saver)
    details, origin = describe(graph, thread), thread
    if exists(graph.checkpointer, new):  # type: ignore[arg-type]  # a graph that is read from has a saver
        raise ThreadError(f"a thread is named {new!r} already; choose another name for the fork")
    if segment is None:
        values = dict(graph.get_state(config_of(thread)).values)
    else:
        record = _numbered(details.segments, thread, segment)
        values, origin = _values_before(graph, thread, record), record.get("thread", thread)
    if not values.get("messages"):
        raise ThreadError(f"what stood before segment {segment} of thread {thread!r} is no longer stored")
    _begin(graph, origin, new, values, remembered(details.info.metadata))


def forks_of(saver: BaseCheckpointSaver[Any], thread: str) -> list[str]:
    """Threads that read what lies before their first compactions from this one; without it they lose that."""
    graph = reader(saver)
    forks = []
    for name in thread_names(saver):
        with suppress(StoreUnusable, ThreadTooNew):
            segments = describe(graph, name).segments
            forks += [name] if any(segment.get("thread") == thread for segment in segments) else []
    return [name for name in forks if name != thread]


def _numbered(segments: Sequence[SegmentRecord], thread: str, number: int) -> SegmentRecord:
    found = next((record for record in segments if record["number"] == number), None)
    if found is None:
        known = ", ".join(str(record["number"]) for record in segments) or "none yet"
        raise ThreadError(f"thread {thread!r} has no segment {number}; its compactions: {known}")
    return found


def _begin(graph: Graph, origin: str, new: str, values: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Write the values of `origin` as the first checkpoint of a new thread, with lineage and without old wishes."""
    segments = [{"thread": origin, **record} for record in values.get("segments") or []]
    compaction = {**values.get("compaction", {}), "pending": None}
    values = {**values, "segments": segments, "compaction": compaction, "compact_request": None}
    replaced = {key: Overwrite(values[key]) if key in DELTAS else values[key] for key in values}
    graph.update_state(config_of(new, metadata=metadata), replaced, as_node=standing(values["messages"]))


def remembered(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What runs put into the metadata of their thread, without LangGraph's own."""
    return {key: value for key, value in metadata.items() if key not in LANGGRAPHS}


def standing(messages: Sequence[AnyMessage]) -> str:
    """The node that a history stands behind: after an answer the turn is done, else it goes on."""
    return "inject_reminder" if is_open(messages) else "call_model"


def reopen(graph: Graph, thread: str) -> bool:
    """Place an unfinished thread that has nothing pending so that `graph.invoke(None, config)` goes on with it.

    Such a thread is left by a wish to compact over an unfinished run. Calls of the run that have no result
    yet run when it goes on, as on any resume at least once: again if they had begun. Calls that a compaction
    found so, and those of an imported history, do not run: the model is told that they were interrupted.
    False where there is nothing to do: the thread is done, or has something pending already.

    Raises:
        ThreadNotFound: there is no such thread.
        StoreUnusable: it cannot be read.
    """
    details = describe(graph, thread)
    if details.pending or not is_open(details.messages):
        return False
    config = config_of(thread, metadata=remembered(details.info.metadata))
    graph.update_state(config, {}, as_node=standing(details.messages))
    return True


def graph_of(graph_or_saver: Graph | BaseCheckpointSaver[Any]) -> Graph:
    """The graph itself, or one that reads what the saver holds."""
    return reader(graph_or_saver) if isinstance(graph_or_saver, BaseCheckpointSaver) else graph_or_saver
