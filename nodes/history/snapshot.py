"""The open todos as they stand in a rebuilt history."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, SystemMessage, ToolMessage

from longthread.nodes.history.speakers import source_of
from longthread.tools.results import text_of
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
        return carried_snapshot(messages)
    remaining = open_todos(todos)
    if not remaining:
        return None
    text = f"{INTRO}\n{format_todos(remaining)}\n{OUTRO}"
    kept = {"source": SOURCE, "written": _last_written(messages), "todos": remaining}
    return SystemMessage(text, id=f"todo-snapshot-{number}", additional_kwargs=kept)


def listed_todos(messages: Sequence[AnyMessage], todos: Sequence[TodoItem]) -> str:
    """The list as the worker reads it: every item, or while `todos` is empty those of the carried snapshot."""
    if todos:
        return format_todos(todos)
    carried = carried_snapshot(messages)
    return text_of(carried).removeprefix(f"{INTRO}\n").removesuffix(f"\n{OUTRO}") if carried else ""


def carried_snapshot(messages: Sequence[AnyMessage]) -> SystemMessage | None:
    """The last snapshot, unless the list was written (and so emptied) after it.

    The write that the snapshot was taken after may stand behind it, in the tail.
    """
    snapshot = next((m for m in reversed(messages) if isinstance(m, SystemMessage) and source_of(m) == SOURCE), None)
    written = _last_written(messages)
    is_newest = snapshot is not None and written in (None, snapshot.additional_kwargs.get("written"))
    return snapshot if is_newest else None


def snapshot_todos(messages: Sequence[AnyMessage]) -> list[TodoItem]:
    """The items of the carried snapshot, for a caller who will not see it."""
    carried = carried_snapshot(messages)
    return list(carried.additional_kwargs.get("todos", [])) if carried else []


def _last_written(messages: Sequence[AnyMessage]) -> str | None:
    """Id of the last result of a `todo_write` that was taken."""
    written = (m for m in reversed(messages) if isinstance(m, ToolMessage) and m.name == TODO_WRITE)
    return next((m.id for m in written if m.status != "error"), None)
