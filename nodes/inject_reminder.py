"""The attention mechanism: one system message that shows the open todos again when they slid out of sight."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage

from longthread.nodes.call_order import unanswered
from longthread.nodes.events import emit
from longthread.nodes.history.speakers import is_users, last_user_message, source_of
from longthread.nodes.settings import ReminderConfig
from longthread.nodes.state import AgentState, Node
from longthread.nodes.turns import begins_turn
from longthread.nodes.version import VERSION
from longthread.tools.text import reminder
from longthread.tools.todo import TODO_WRITE, TodoItem, format_todos, open_todos, replay_todos

SOURCE = "todo_reminder"
INTRO = (
    "Your todo list still has open items. Keep working on them, and update the list with todo_write "
    "as soon as something is done or changes. Do not mention this reminder."
)


def make_inject_reminder(config: ReminderConfig, agent: str) -> Node:
    """The node for these settings and the agent of this name."""

    def inject_reminder(state: AgentState) -> dict[str, Any]:
        begins, messages = begins_turn(state, agent), state["messages"]
        if state.get("reminder") and unanswered(messages, agent):
            return {}
        update: dict[str, Any] = _begin(state) if begins else {}
        if state.get("schema_version") != VERSION:
            update["schema_version"] = VERSION
        todos = state.get("todos") or []
        if not state.get("reminder") and not todos and (todos := replay_todos(messages)):
            update["todos"] = todos
        if open_todos(todos) and _is_due(messages, begins, config):
            emit("reminder", todos=len(open_todos(todos)))
            update["messages"] = [reminder_message(todos, messages[-1].id)]
        return update

    return inject_reminder


def _begin(state: AgentState) -> dict[str, Any]:
    user = last_user_message(state["messages"])
    counters = {**(state.get("reminder") or {}), "turn": user.id if user else None, "requests": 0, "earlier": 0}
    return {"reminder": counters, "compaction": {**(state.get("compaction") or {}), "refusals": 0}}


def reminder_message(todos: Sequence[TodoItem], after: str | None) -> SystemMessage:
    """The block that lists the open todos; its id follows from the message it stands after."""
    return SystemMessage(
        reminder(f"{INTRO}\n{format_todos(open_todos(todos))}"),
        id=f"reminder-{after}",
        additional_kwargs={"source": SOURCE},
    )


def _is_due(messages: Sequence[AnyMessage], begins: bool, config: ReminderConfig) -> bool:
    requests, turn_began = _since_shown(messages, config.idle_requests)
    if begins and config.each_turn and turn_began:
        return True
    return requests >= config.idle_requests


def _since_shown(messages: Sequence[AnyMessage], enough: int) -> tuple[int, bool]:
    """Requests sent since the list was last shown, counted up to `enough`, and whether a turn began since."""
    requests, turn_began = 0, False
    for message in reversed(messages):
        if shows_todos(message):
            break
        requests += isinstance(message, AIMessage)
        turn_began = turn_began or is_users(message)
        if requests >= enough and turn_began:
            break
    return requests, turn_began


def shows_todos(message: AnyMessage) -> bool:
    """The message shows the list: a successful `todo_write`, a reminder, or a snapshot."""
    if isinstance(message, ToolMessage):
        return message.name == TODO_WRITE and message.status != "error"
    return source_of(message) in (SOURCE, "todo_snapshot")
