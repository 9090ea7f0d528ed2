"""The conditional edges: pure functions of the state, named for where they stand."""

from collections.abc import Callable
from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langgraph.types import Send

from longthread.nodes.call_order import CallOrder
from longthread.nodes.history.speakers import awaits_first_answer, is_graphs_own, last_answer
from longthread.nodes.state import AgentState
from longthread.nodes.turns import begins_turn


def route_start(state: AgentState) -> Literal["inject_reminder", "compact"]:
    """A wish to compact comes before everything else."""
    return "compact" if state.get("compact_request") is not None else "inject_reminder"


def make_route_start_without(agent: str) -> Callable[[AgentState], Any]:
    """The first edge of a graph without compaction."""

    def route_start_without(state: AgentState) -> Literal["inject_reminder", "__end__"]:
        """A wish to compact is none here; alone it is no turn either."""
        wishes = state.get("compact_request") is not None
        return "__end__" if wishes and not begins_turn(state, agent) else "inject_reminder"

    return route_start_without


def route_after_check(state: AgentState) -> Literal["compact", "call_model"]:
    """Occupancy above the request threshold leads to a compaction first."""
    return "compact" if _pending(state) else "call_model"


def make_route_after_compact(agent: str) -> Callable[[AgentState], Any]:
    """The edge after a compaction."""

    def route_after_compact(state: AgentState) -> Literal["inject_reminder", "pre_request_check", "__end__"]:
        """On to the answer if a new message waits for it, back to the check inside a turn, else the end."""
        if begins_turn(state, agent):
            return "inject_reminder"
        trigger, waits = (state.get("compaction") or {}).get("trigger"), awaits_first_answer(state["messages"], agent)
        ends = trigger == "user" or (trigger == "compact_threshold" and not waits)
        return "__end__" if ends else "pre_request_check"

    return route_after_compact


def make_route_after_model(order: CallOrder) -> Callable[[AgentState], Any]:
    """The edge after an answer."""

    def route_after_model(state: AgentState) -> list[Send] | Literal["compact", "__end__"]:
        if _pending(state):
            return "compact"
        return _sends(state, order) or "__end__"

    return route_after_model


def make_route_after_reminder(order: CallOrder, direct: frozenset[str]) -> Callable[[AgentState], Any]:
    """The edge after `inject_reminder`: the next calls of the message while some are left, else the next request.

    It stands there and not at `execute_tools`, since each task of a superstep would see only its own result.
    """

    def route_after_reminder(state: AgentState) -> list[Send] | Literal["pre_request_check", "__end__"]:
        # In a thread that only now begins, open calls came with the input: whoever made them, it was not this run.
        if state.get("reminder") and (sends := _sends(state, order)):
            return sends
        return "__end__" if direct and _ends_with_direct(state, direct) else "pre_request_check"

    return route_after_reminder


def _pending(state: AgentState) -> Any:
    return (state.get("compaction") or {}).get("pending")


def _sends(state: AgentState, order: CallOrder) -> list[Send]:
    # Only the call travels; a Send that carries the state would be stored once per call.
    return [Send("execute_tools", [call]) for call in order.next_batch(state["messages"])]


def _ends_with_direct(state: AgentState, direct: frozenset[str]) -> bool:
    """The turn ended with calls whose results are the answer (`return_direct`)."""
    newest = next((message for message in reversed(state["messages"]) if not is_graphs_own(message)), None)
    if not isinstance(newest, ToolMessage):
        return False
    asked = last_answer(state["messages"])
    return asked is not None and all(call["name"] in direct for call in asked.tool_calls)
