"""Thinning a thread: of every closed segment one full snapshot stays, the open segment is left as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint

# LangGraph's own mark of a stored value that needs no replay; it names rewriting a checkpoint with it as the
# way to thin out a thread (`BaseCheckpointSaver.prune`).
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from longthread.graph.lineage import graph_of
from longthread.graph.locks import TIMEOUT, thread_lock
from longthread.graph.savers.base import ThreadSaver
from longthread.graph.threads import Graph, config_of, describe, readable
from longthread.nodes.state import SegmentRecord
from longthread.tools.errors import ThreadError

INTERNAL = ("branch:", "__")
"""How LangGraph's own channels begin."""


@dataclass(frozen=True)
class Pruned:
    """What a pruning did."""

    segments: int
    """Closed segments that are kept, as one snapshot each."""
    checkpoints: int
    """Checkpoints that went, without those of subgraphs."""


def prune_thread(
    graph_or_saver: Graph | BaseCheckpointSaver[Any],
    thread: str,
    *,
    drop_history: bool = False,
    timeout: float = TIMEOUT,
) -> Pruned:
    """Thin out a thread from `open_saver`; `transcript` and `fork` give the same afterwards.

    Of every segment that a compaction has closed, the checkpoint before that compaction stays,
    written in full; what lies between, and the subgraphs of closed segments (the worker's own
    conversation among them), goes. The open segment is untouched: an unfinished run, or a
    compaction under way, is resumed as before. One transaction: a kill leaves the thread as it was
    or pruned. With SQLite the file shrinks.

    Args:
        graph_or_saver: the saver, or your own graph where its state has delta channels of its own.
        thread: the thread's name.
        drop_history: keep the open segment only; `transcript` then begins with its summary.
        timeout: seconds to wait for a run on the thread; the thread is locked meanwhile.

    Raises:
        ThreadNotFound: there is no such thread.
        ThreadBusy: a run holds it.
        ThreadError: another kind of saver, or a delta channel that the graph does not know.
    """
    graph = graph_of(graph_or_saver)
    saver = graph.checkpointer
    if not isinstance(saver, ThreadSaver):
        raise ThreadError(f"threads of a {type(saver).__name__} cannot be pruned: use a saver from open_saver")
    with thread_lock(saver, thread, timeout):
        with saver.transaction(config_of(thread)):
            pruned = _Pruning(graph, saver, thread).run(drop_history)
        saver.shrink()
    return pruned


class _Pruning:
    def __init__(self, graph: Graph, saver: ThreadSaver, thread: str) -> None:
        self._graph, self._saver, self._thread = graph, saver, thread

    def run(self, drop_history: bool) -> Pruned:
        parents = self._saver.parents(self._thread)
        segments = describe(self._graph, self._thread).segments
        closed = [identity for identity in _closed(segments, self._thread) if identity in parents]
        first = _first_open(parents, set(closed))
        if first is None:
            return Pruned(0, 0)
        snapshots = [] if drop_history else closed
        for identity, before in zip([*snapshots, first], [None, *snapshots], strict=True):
            self._write_whole(identity, before)
        kept = {*_descendants(parents, first), *snapshots}
        gone = [identity for identity in parents if identity not in kept]
        self._saver.thin(self._thread, gone, snapshots, before=first)
        return Pruned(len(snapshots), len(gone))

    def _write_whole(self, identity: str, before: str | None) -> None:
        """Write a checkpoint anew so that it holds every delta channel in full and needs no other one."""
        with readable(self._thread):
            found = self._saver.get_tuple(_at(self._thread, identity))
            values = self._graph.get_state(_at(self._thread, identity)).values
        assert found is not None
        self._check(found.checkpoint)
        versions = found.checkpoint["channel_versions"]
        deltas = {key: _DeltaSnapshot(values[key]) for key in self._deltas() if key in versions}
        held = {**found.checkpoint["channel_values"], **deltas}
        self._saver.rewrite(
            _at(self._thread, before), {**found.checkpoint, "channel_values": held}, found.metadata, list(deltas)
        )

    def _deltas(self) -> list[str]:
        return [name for name, channel in self._graph.channels.items() if isinstance(channel, DeltaChannel)]

    def _check(self, checkpoint: Checkpoint) -> None:
        """Raise where a value may have to be replayed and the graph does not know how."""
        known = {*self._graph.channels, *checkpoint["channel_values"]}
        strange = [name for name in checkpoint["channel_versions"] if name not in known]
        if strange := [name for name in strange if not name.startswith(INTERNAL)]:
            raise ThreadError(
                f"thread {self._thread!r} has keys of another graph, {', '.join(map(repr, strange))}: hand in that "
                "graph instead of the saver, as in prune_thread(graph, thread)"
            )


def _at(thread: str, identity: str | None) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": identity}}


def _closed(segments: Sequence[SegmentRecord], thread: str) -> list[str]:
    """The thread's own checkpoints before its compactions, the oldest first."""
    own = [record for record in segments if record.get("thread", thread) == thread]
    return [record["compacted_from"] for record in own if record["compacted_from"]]


def _first_open(parents: Mapping[str, str | None], closed: set[str]) -> str | None:
    """The first checkpoint after the last compaction; `None` where no compaction lies before the newest one."""
    at: str | None = max(parents, default=None)
    while at is not None:
        before = parents.get(at)
        if before in closed:
            return at
        at = before
    return None


def _descendants(parents: Mapping[str, str | None], first: str) -> set[str]:
    """The checkpoint and all that continue it; ids grow with time."""
    found = {first}
    for identity in sorted(parents):
        if parents[identity] in found:
            found.add(identity)
    return found
