"""The agent as one node of a larger graph."""

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite

from longthread.tools.errors import SettingsError

Mode = Literal["replace", "last"]


def as_node(
    graph: CompiledStateGraph[Any, Any, Any, Any], mode: Mode = "replace", memory: bool = True
) -> Runnable[Any, Any]:
    """A node for a parent graph whose state has `messages` (and shares `todos`, if it has that key).

    Args:
        graph: what `create_agent` made; a saver given to it is not used, the parent's is.
        mode: `"replace"` gives the parent the rebuilt history, so that its `messages` shrink with a
            compaction; it needs a reducer on the parent's `messages` (`add_messages` is one) and no other
            writer in that step. `"last"` gives it the answer only.
        memory: `True` keeps the agent's own state per thread of the parent; the node must not then run
            in parallel. `False` starts fresh each time, and may.

    Raises:
        SettingsError: an unknown mode.
    """
    if mode not in ("replace", "last"):
        raise SettingsError(f"mode={mode!r} is neither 'replace' nor 'last'")
    inner = graph.copy(update={"checkpointer": True if memory else None})
    inputs = frozenset(inner.get_input_jsonschema().get("properties", {}))

    def handed_in(state: Mapping[str, Any]) -> dict[str, Any]:
        given = {key: state[key] for key in inputs & set(state) if key != "compact_request"}
        if mode == "replace":
            given["messages"] = Overwrite(list(state["messages"]))
        return given

    def handed_back(result: Mapping[str, Any]) -> dict[str, Any]:
        if mode == "replace":
            return {**result, "messages": Overwrite(list(result["messages"]))}
        answer = next((m for m in reversed(result["messages"]) if isinstance(m, AIMessage)), None)
        return {**result, "messages": [answer] if answer else []}

    return RunnableLambda(handed_in) | inner | RunnableLambda(handed_back)
