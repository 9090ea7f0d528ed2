"""The agent as one node of a larger graph."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph._internal._runnable import RunnableCallable  # sync and async in one node
from langgraph.channels import LastValue
from langgraph.errors import ParentCommand
from langgraph.graph.state import CompiledStateGraph

from longthread.graph.latches import MemoryLatch
from longthread.graph.passage import Mode, Passage
from longthread.tools.errors import SettingsError, ThreadBusy

__all__ = ["Mode", "as_node"]


def as_node(
    graph: CompiledStateGraph[Any, Any, Any, Any], mode: Mode = "replace", memory: bool = True
) -> Runnable[Any, Any]:
    """A node for a parent graph whose state has `messages` (and shares `todos`, if it has that key).

    Args:
        graph: what `create_agent` made; a saver given to it is not used, the parent's is.
        mode: `"replace"` gives the parent the rebuilt history, so that its `messages` shrink with a
            compaction; it needs a reducer on the parent's `messages` (`add_messages` is one) and no other
            writer in that step. `"last"` gives it the answer only.
        memory: `True` keeps the agent's own state (todos, read tracker, breaker) per thread of the parent,
            where the parent has a saver; the node must not then run in parallel. `False` starts fresh each
            time, and may.

    The node carries the graph's name. Stream the parent with `subgraphs=True` to see tokens and events; a
    replaced history does not appear in its own stream of messages. A tool that hands over to a node of the parent
    (`Command(graph=Command.PARENT)`) with the history in its update follows `mode` too.

    Raises:
        SettingsError: an unknown mode, a graph that is not compiled; when the node runs, a parent's state
            without `messages` or, in mode `"replace"`, without a reducer on them.
        ThreadBusy: two copies at once on one thread with `memory=True`.
    """
    if mode not in ("replace", "last"):
        raise SettingsError(f"mode={mode!r} is neither 'replace' nor 'last'")
    if not isinstance(graph, CompiledStateGraph):
        raise SettingsError(f"as_node takes a compiled graph, not {type(graph).__name__}; call .compile() first")
    inner = graph.copy(update={"checkpointer": True if memory else None})
    passage = Passage(mode, frozenset(inner.builder.schemas[inner.builder.input_schema]))

    # The functions capture the graph itself, so that LangGraph finds the subgraph.
    def agent(state: Any, config: RunnableConfig) -> dict[str, Any]:
        with _alone(config, inner.name, memory), _handing_over(passage):
            _check_reducer(config, mode)
            return passage.back(inner.invoke(passage.into(state), config))

    async def aagent(state: Any, config: RunnableConfig) -> dict[str, Any]:
        with _alone(config, inner.name, memory), _handing_over(passage):
            _check_reducer(config, mode)
            return passage.back(await inner.ainvoke(passage.into(state), config))

    return RunnableCallable(agent, aagent, name=inner.name, trace=False)


def _check_reducer(config: RunnableConfig, mode: Mode) -> None:
    """A channel without a reducer would keep the `Overwrite` itself as its value."""
    # LangGraph has no public way to look at the parent's channels from inside a node.
    given: Sequence[Any] = getattr(config["configurable"].get("__pregel_read"), "args", ())
    channels: Mapping[str, Any] = next((part for part in given if isinstance(part, Mapping)), {})
    if mode == "replace" and isinstance(channels.get("messages"), LastValue):
        raise SettingsError(
            "the parent's 'messages' have no reducer, which mode='replace' needs; annotate them with add_messages, "
            "or use mode='last'"
        )


@contextmanager
def _handing_over(passage: Passage) -> Iterator[None]:
    """What a handoff tool gives the parent beside the way to go follows the mode as an answer does."""
    try:
        yield
    except ParentCommand as handoff:
        handoff.args = (passage.over(handoff.args[0]), *handoff.args[1:])
        raise


@contextmanager
def _alone(config: RunnableConfig, name: str, memory: bool) -> Iterator[None]:
    """Refuse a second copy that would write to the same memory at the same time, which LangGraph lets lose updates."""
    settings: Mapping[str, Any] = config["configurable"]
    saver, thread = settings.get("__pregel_checkpointer"), settings.get("thread_id")
    if not memory or not saver or thread is None:
        yield
        return
    parts = str(settings.get("checkpoint_ns", "")).split("|")
    place = "|".join(part.split(":")[0] for part in parts if not part.isdigit())
    latch = MemoryLatch(saver, f"{thread}|{place}")
    if not latch.try_take():
        raise ThreadBusy(
            f"the agent {name!r} runs already on thread {thread!r}, and with memory=True it cannot run in parallel; "
            "use as_node(..., memory=False) for copies that run side by side"
        )
    try:
        yield
    finally:
        latch.release()
