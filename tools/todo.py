"""The todo list: one tool that replaces it whole, and its recovery from a bare history."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command
from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from longthread.tools.described import described
from longthread.tools.mend_todos import MAX_CONTENT, is_list_of_items, mended
from longthread.tools.text import clean, escape, one_line

MAX_ITEMS = 100
MAX_TOTAL = 8_000
STATUSES = ("pending", "in_progress", "completed")
MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}
TODO_WRITE = "todo_write"


class TodoItem(TypedDict):
    """One item of the list."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"]


class InvalidTodos(ValueError):
    """A list that breaks a rule; the text says which and how to mend it."""


def replace_todos(state: list[TodoItem] | None, writes: Sequence[Sequence[TodoItem] | None]) -> list[TodoItem]:
    """The list after the writes: the last one wins. It never raises, so that a thread can always be loaded.

    Items from elsewhere are mended (see `with_ids`); a write that is no list of items is passed over.
    """
    given = next((items for items in (*reversed(writes), state) if is_list_of_items(items)), ())
    return with_ids(given)


def with_ids(items: Sequence[Mapping[str, Any]]) -> list[TodoItem]:
    """Items of the three fields only, as clean text, blank ones left out.

    One without an id gets the next number, from 1, that is free. A status spelled as in other programs is
    understood, an unknown one is pending.
    """
    found = list(mended(items))
    taken = {identity for identity, _, _ in found}
    free = (str(n) for n in range(1, len(found) * 2 + 2) if str(n) not in taken)
    return [{"id": identity or next(free), "content": content, "status": status} for identity, content, status in found]


def check_todos(items: object) -> list[TodoItem]:
    """The list if it keeps every rule.

    Raises:
        InvalidTodos: names the item, the rule and the way out.
    """
    if isinstance(items, str):
        items = _decoded(items)
    if not isinstance(items, list):
        raise InvalidTodos(f"todos must be a list of items, not {type(items).__name__}")
    if len(items) > MAX_ITEMS:
        raise InvalidTodos(f"{len(items)} items are too many; at most {MAX_ITEMS}: merge or drop some")
    checked = [_check_item(n, item) for n, item in enumerate(items, 1)]
    total = sum(len(item["id"]) + len(item["content"]) for item in checked)
    if total > MAX_TOTAL:
        raise InvalidTodos(f"the list holds {total} characters; at most {MAX_TOTAL}: shorten the items")
    ids = [item["id"] for item in checked]
    if repeated := sorted({i for i in ids if ids.count(i) > 1}):
        raise InvalidTodos(f"ids must be unique; {one_line(', '.join(map(repr, repeated)))} stands more than once")
    return checked


def _decoded(text: str) -> object:
    """Some models send the list as a string of JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _check_item(n: int, item: object) -> TodoItem:
    if not isinstance(item, dict):
        raise InvalidTodos(f"item {n} must be an object with id, content and status")
    if unknown := sorted(set(map(str, item)) - {"id", "content", "status"}):
        raise InvalidTodos(f"item {n} has unknown fields {one_line(', '.join(unknown))}; only id, content, status")
    for field in ("id", "content"):
        if not isinstance(item.get(field), str) or not item[field].strip():
            raise InvalidTodos(f"item {n} needs a non-empty string {field!r}")
    if item.get("status") not in STATUSES:
        raise InvalidTodos(
            f"item {n} has status {one_line(repr(item.get('status')), 60)}; use one of {', '.join(STATUSES)}"
        )
    if len(item["id"]) > MAX_CONTENT or len(item["content"]) > MAX_CONTENT:
        raise InvalidTodos(f"item {n} is longer than {MAX_CONTENT} characters; shorten it")
    return {"id": clean(item["id"]).strip(), "content": clean(item["content"]), "status": item["status"]}


def open_todos(items: Sequence[TodoItem]) -> list[TodoItem]:
    """What is not completed."""
    return [item for item in items if item["status"] != "completed"]


def format_todos(items: Sequence[TodoItem]) -> str:
    """One escaped line per item: `[~] (id) content`; the mark shows the status."""
    return "\n".join(
        f"{MARKS[item['status']]} ({escape(one_line(item['id'], 60))}) {escape(one_line(item['content'], MAX_CONTENT))}"
        for item in items
    )


def replay_todos(messages: Sequence[AnyMessage]) -> list[TodoItem]:
    """The list as the last valid `todo_write` call of a bare history left it; empty without one.

    A call that does not fit the schema, or whose result was an error, is passed over. An id that is
    used again in a later call belongs to the results that follow that call.
    """
    outcomes: dict[str | None, str] = {}
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            outcomes[message.tool_call_id] = message.status
        for call in reversed(message.tool_calls if isinstance(message, AIMessage) else []):
            refused = outcomes.pop(call["id"], "success") == "error"
            if call["name"] == TODO_WRITE and not refused:
                try:
                    return check_todos(call["args"].get("todos"))
                except InvalidTodos:
                    continue
    return []


_SCHEMA = {
    "type": "array",
    "maxItems": MAX_ITEMS,
    "items": {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "content": {"type": "string", "maxLength": MAX_CONTENT},
            "status": {"type": "string", "enum": list(STATUSES)},
        },
        "required": ["id", "content", "status"],
        "additionalProperties": False,
    },
}


# Checked by `check_todos` and not by pydantic, so that the model is told the rule and the way out.
@described
@tool(TODO_WRITE)
def todo_write(
    todos: Annotated[Any, WithJsonSchema(_SCHEMA)], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command[Any]:
    """Replace the whole todo list; array order is list order.

    Use it for work of three or more steps: to plan, and at once when an item is begun or done or the
    plan changes. Keep ids stable. Not for single-step work.
    """
    checked = check_todos(todos)
    done = len(checked) - len(open_todos(checked))
    listed = format_todos(checked)
    result = ToolMessage(
        f"Todo list updated, {done} of {len(checked)} completed.\n{listed}",
        name=TODO_WRITE,
        tool_call_id=tool_call_id,
        additional_kwargs={"summary": "; ".join(listed.splitlines()) or "the todo list is empty"},
    )
    return Command(update={"messages": [result], "todos": checked})
