"""Where a turn begins: one user prompt until the final answer."""

from longthread.nodes.history.speakers import is_own, is_users
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
