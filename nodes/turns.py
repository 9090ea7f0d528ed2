"""Where a turn begins and whether it has ended: one user prompt until the final answer."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from longthread.nodes.call_order import unanswered
from longthread.nodes.history.speakers import is_own, is_users, last_answer, source_of
from longthread.nodes.results import DIRECT
from longthread.nodes.state import AgentState


def begins_turn(state: AgentState, agent: str | None = None) -> bool:
    """A user message stands after the last answer of this agent (default: of any); no turn was begun with it yet."""
    begun = (state.get("reminder") or {}).get("turn")
    for message in reversed(state["messages"]):
        if is_own(message, agent):
            return False
        if is_users(message):
            return message.id != begun
    return False


def is_open(messages: Sequence[AnyMessage]) -> bool:
    """The newest turn has no final answer yet: it ends with the user's words, a call, or results nobody answered."""
    newest = next((m for m in reversed(messages) if is_users(m) or isinstance(m, ToolMessage) or _is_answer(m)), None)
    if newest is None:
        # A compaction may leave nothing of the turn but the reminder, which only ever stands before a request.
        return any(source_of(message) == "todo_reminder" for message in messages)
    if isinstance(newest, AIMessage):
        return bool(newest.tool_calls)
    return not (isinstance(newest, ToolMessage) and _is_final(messages))


def _is_answer(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and not source_of(message)


def _is_final(messages: Sequence[AnyMessage]) -> bool:
    """Every call of the last answer has a result that is the answer itself (`return_direct`)."""
    asked = last_answer(messages)
    ids = {call["id"] for call in asked.tool_calls} if asked else set()
    results = [m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id in ids]
    return not unanswered(messages) and all(m.additional_kwargs.get(DIRECT) for m in results)
