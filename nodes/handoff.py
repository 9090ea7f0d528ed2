"""A tool that hands over to a node of the parent graph, beside other calls of the same message.

The parent's history must hold a result for every call, or the next agent's request is refused;
LangGraph keeps only what the tool itself puts in its `Command`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall, ToolMessage, convert_to_messages
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from longthread.nodes.call_order import is_handoff
from longthread.nodes.results import result_id

UNFINISHED = (
    "This call was not finished when another call of the same message handed over. It may or may not have taken "
    "effect: check before you repeat it."
)
HANDED_OVER = "Handed over."


def as_first(request: ToolCallRequest) -> ToolCallRequest:
    """For a handoff the history up to its own message, which such tools expect last, as if it ran beside the others."""
    messages = request.state.get("messages", []) if isinstance(request.state, dict) else []
    asking = _asking(messages, request.tool_call)
    if request.tool is None or not is_handoff(request.tool) or asking is None:
        return request
    return request.override(state={**request.state, "messages": messages[: messages.index(asking) + 1]})


def with_every_result(result: Any, request: ToolCallRequest) -> Any:
    """A command to the parent, with the message that called and a result for each of its calls; else as it is."""
    if not isinstance(result, Command) or result.graph is None or not isinstance(result.update, dict):
        return result
    given = convert_to_messages(result.update.get("messages") or [])
    history: Sequence[AnyMessage] = request.state.get("messages", [])
    asking = _asking(given, request.tool_call) or _asking(history, request.tool_call)
    if not given or asking is None:
        return result
    calls = {call["id"]: call for call in asking.tool_calls}
    found = {m.tool_call_id: m for m in (*history, *given) if isinstance(m, ToolMessage) and m.tool_call_id in calls}
    results = [found.get(call["id"] or "") or _stand_in(call, request) for call in calls.values()]
    others = [m for m in given if not (isinstance(m, ToolMessage) and m.tool_call_id in calls)]
    at = next((n for n, m in enumerate(others) if m is asking), None)
    before, after = (others, []) if at is None else (others[:at], others[at + 1 :])
    return replace(result, update={**result.update, "messages": [*before, asking, *results, *after]})


def _asking(messages: Sequence[BaseMessage], call: ToolCall) -> AIMessage | None:
    """The newest message that made the call."""
    asking = (m for m in reversed(messages) if isinstance(m, AIMessage))
    return next((m for m in asking if call["id"] in [made["id"] for made in m.tool_calls]), None)


def _stand_in(call: ToolCall, request: ToolCallRequest) -> ToolMessage:
    own = call["id"] == request.tool_call["id"]
    return ToolMessage(
        HANDED_OVER if own else UNFINISHED,
        name=call["name"],
        tool_call_id=call["id"],
        id=result_id(request.state.get("messages", []), call["id"] or ""),
        status="success" if own else "error",
        additional_kwargs={"summary": f"{call['name']}: {'handed over' if own else 'not finished at a handoff'}"},
    )
