"""Where a turn begins: one user prompt until the final answer."""

from langchain_core.messages import AIMessage

from longthread.nodes.history.speakers import is_users
from longthread.nodes.state import AgentState


def begins_turn(state: AgentState) -> bool:
    """A user message stands after the last answer and no turn was begun with it yet."""
    begun = (state.get("reminder") or {}).get("turn")
    for message in reversed(state["messages"]):
        if isinstance(message, AIMessage):
            return False
        if is_users(message):
            return message.id != begun
    return False
