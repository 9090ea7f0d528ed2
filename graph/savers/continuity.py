"""No write is lost silently: a run must continue the newest checkpoint of its thread.

The rule. A *chain* is one execution of one graph in one checkpoint namespace: a run, or a subgraph
inside it. When a chain loads its thread, the saver notes the newest checkpoint of the namespace
and how many stored writes the chain has seen on the one it begins from. Every checkpoint and every
write of the chain is then stored only if nothing but the chain itself has been stored since, which
is checked in the same transaction; otherwise the chain gets `StaleRun`. So of two runs at once on
one thread the one that stores first goes on and is complete, the other ends with the error.

What stays possible: a run from an older checkpoint (a fork) begins like any other, since what
counts is what was newest when it loaded, not where it begins. `update_state`, `put` by hand and
`delete_thread` are no chains and are never refused; they make a chain that is under way stale.
Tasks that run side by side in one step belong to one chain. A subgraph's own namespace is its own
chain. A run that goes on after a kill loads afresh.

With `durability="sync"` the error ends a stale run at its next step; with LangGraph's default,
`"async"`, it may come only when the run ends.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from longthread.tools.errors import StaleRun

# Private to LangGraph: each execution of a graph has an object of its own under this key, and only an
# execution has it, so it tells chains from each other and from update_state.
RUNTIME = "__pregel_runtime"
REMEMBERED = 4096
"""Chains that a saver remembers; one that was forgotten is judged by the parent it names."""
CLOCK = "the clock here is behind that of the machine which wrote last, and checkpoints are ordered by time: set it"


class Standing(NamedTuple):
    """What is stored in a namespace."""

    newest: str | None
    """Id of its newest checkpoint."""
    rows: int
    """Stored writes on the checkpoint that was asked about."""


@dataclass
class Chain:
    """What a chain knows to be stored."""

    thread: str
    tip: str | None = None
    """The newest checkpoint of the namespace."""
    rows: dict[str, int] = field(default_factory=dict)
    """Stored writes by checkpoint."""
    known: bool = False
    """It was seen loading, so that `tip` is what it saw."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held over a transaction and the note of what it stored: a step's tasks store side by side."""

    def check(self, stored: Standing, onto: str | None) -> None:
        """Raise `StaleRun` if somebody else has written to the namespace."""
        if not self.known:
            pending = stored.newest is None or (onto is not None and stored.newest < onto)
            self.known, self.tip = True, stored.newest if pending else onto
        if stored.newest != self.tip or stored.rows != self.rows.get(onto or "", stored.rows):
            raise StaleRun(self.thread)

    def check_time(self, identity: str) -> None:
        """Raise `StaleRun` if a checkpoint would not be the newest once it is stored."""
        if self.tip is not None and identity < self.tip:
            raise StaleRun(self.thread, CLOCK)

    def stored(self, identity: str) -> None:
        """Note the chain's own checkpoint; writes on later ones may have come before theirs."""
        later = {onto: rows for onto, rows in self.rows.items() if onto > identity}
        self.tip, self.rows = identity, {identity: self.rows.get(identity, 0), **later}


class Chains:
    """The chains that use one saver, by execution, thread and namespace."""

    def __init__(self) -> None:
        self._chains: OrderedDict[tuple[int, str, str], Chain] = OrderedDict()
        self._lock = threading.Lock()

    def loaded(self, config: RunnableConfig, found: CheckpointTuple | None, newest: str | None) -> None:
        """Note what a chain sees as it begins; LangGraph loads up to twice then."""
        with self._lock:
            chain = self._get(config)
            chain.tip, chain.known = newest, True
            if found:
                chain.rows[found.checkpoint["id"]] = len(found.pending_writes or ())

    def of(self, config: RunnableConfig) -> Chain:
        """The chain that writes with this config."""
        with self._lock:
            return self._get(config)

    def _get(self, config: RunnableConfig) -> Chain:
        key = _key(config)
        chain = self._chains.setdefault(key, Chain(thread_of(config)))
        self._chains.move_to_end(key)
        if len(self._chains) > REMEMBERED:
            self._chains.popitem(last=False)
        return chain


def is_chain(config: RunnableConfig | None) -> bool:
    """Whether an execution of a graph stands behind a call."""
    return config is not None and config.get("configurable", {}).get(RUNTIME) is not None


def thread_of(config: RunnableConfig) -> str:
    """The thread's name, as savers store it."""
    return str(config["configurable"]["thread_id"])


def namespace_of(config: RunnableConfig) -> str:
    """The checkpoint namespace; empty for the graph that was invoked."""
    return config["configurable"].get("checkpoint_ns") or ""


def _key(config: RunnableConfig) -> tuple[int, str, str]:
    # An execution that has ended may have had its object at the same address: whoever loads begins anew.
    return id(config["configurable"][RUNTIME]), thread_of(config), namespace_of(config)
