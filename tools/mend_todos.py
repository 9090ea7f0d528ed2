"""Todos from elsewhere (input, a parent graph, an older thread), brought into the shape of the list."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeGuard

from longthread.tools.text import as_text

MAX_CONTENT = 1_000
Status = Literal["pending", "in_progress", "completed"]
SPELLINGS: dict[str, Status] = {
    **dict.fromkeys(("in_progress", "doing", "active", "started", "inprogress"), "in_progress"),
    **dict.fromkeys(("completed", "done", "complete", "finished", "closed"), "completed"),
}
"""What other programs write; anything else is pending."""


def is_list_of_items(value: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    """The value can be mended: a list, maybe empty, of mappings only."""
    return isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)


def mended(items: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, Status]]:
    """Id (maybe empty), content and status of each item that says something."""
    for item in items:
        content = _text(item.get("content"))
        if content.strip():
            yield _text(item.get("id")).strip(), content, _status(item.get("status"))


def _text(value: object) -> str:
    return "" if value is None else as_text(value)[:MAX_CONTENT]


def _status(value: object) -> Status:
    spelled = value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    return SPELLINGS.get(spelled, "pending")
