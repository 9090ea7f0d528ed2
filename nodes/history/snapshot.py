"""The open todos as they stand in a rebuilt history."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, SystemMessage, ToolMessage

from longthread.nodes.history.speakers import source_of
from longthread.tools.todo import TODO_WRITE, TodoItem, format_todos, open_todos

SOURCE = "todo_snapshot"
INTRO = "[Open todos when the context was compacted]"
OUTRO = (
    "The todo list itself is empty now. Call todo_write with what is still open when you go on, so that it is "
    "tracked again."
)


def snapshot_message(messages: Sequence[AnyMessage], todos: Sequence[TodoItem], number: int) -> SystemMessage | None:
    """The snapshot for compaction `number`: of `todos`, or while they are empty the last one, word for word."""
    if not todos:
        return _carried(messages)
    remaining = open_todos(todos)
    if not remaining:
        return None
    text = f"{INTRO}\n{format_todos(remaining)}\n{OUTRO}"
    return SystemMessage(text, id=f"todo-snapshot-{number}", additional_kwargs={"source": SOURCE})


def _carried(messages: Sequence[AnyMessage]) -> SystemMessage | None:
    """The last snapshot, unless the list was written (and so emptied) after it."""
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.name == TODO_WRITE and message.status != "error":
            return None
        if isinstance(message, SystemMessage) and source_of(message) == SOURCE:
            return message
    return None
