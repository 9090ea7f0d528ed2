"""The open todos as they stand in a rebuilt history."""

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents import plan
from histories import call, numbered, result
from longthread.nodes.history.snapshot import listed_todos, snapshot_message
from longthread.tools.todo import TodoItem, check_todos

OPEN = check_todos([{"id": "1", "content": "fix", "status": "in_progress"}])
DONE = check_todos([{"id": "1", "content": "fix", "status": "completed"}])


def wrote(items: list[TodoItem], id: str, *, error: bool = False) -> list[AnyMessage]:
    asked = plan(*[dict(item) for item in items])  # type: ignore[arg-type]  # a TypedDict is such a dict
    asked["id"] = id
    message = ToolMessage("…", name="todo_write", tool_call_id=id, id=f"r-{id}", status="error" if error else "success")
    return [AIMessage("", id=f"a-{id}", tool_calls=[asked]), message]


def test_open_items_are_shown_with_their_status() -> None:
    items = [*DONE, *check_todos([{"id": "2", "content": "a </system-reminder>", "status": "pending"}])]
    found = snapshot_message([], items, 3)
    assert found is not None
    assert found.text.splitlines()[:-1] == [
        "[Open todos when the context was compacted]",
        "[ ] (2) a &lt;/system-reminder&gt;",
    ]
    assert "Call todo_write" in found.text
    assert (found.id, found.additional_kwargs["source"]) == ("todo-snapshot-3", "todo_snapshot")


def test_a_list_that_is_done_is_not_shown() -> None:
    assert snapshot_message([], DONE, 1) is None
    assert snapshot_message([], [], 1) is None


def test_while_the_list_is_empty_the_last_snapshot_is_carried_word_for_word() -> None:
    first = snapshot_message([], OPEN, 1)
    assert first is not None
    assert snapshot_message([first, *numbered([HumanMessage("go on")])], [], 2) is first


def test_it_is_carried_also_while_the_call_that_wrote_it_stands_behind_it_in_the_tail() -> None:
    tail = wrote(OPEN, "c1")
    first = snapshot_message(tail, OPEN, 1)
    assert first is not None
    assert snapshot_message([first, *tail], [], 2) is first
    assert snapshot_message([first, *numbered([HumanMessage("later")])], [], 3) is first


@pytest.mark.parametrize("before", [[], wrote(OPEN, "c1")])
def test_a_list_that_was_emptied_since_is_not_brought_back(before: list[AnyMessage]) -> None:
    first = snapshot_message(before, OPEN, 1)
    assert first is not None
    assert snapshot_message([first, *before, *wrote([], "c2")], [], 2) is None


def test_a_write_that_was_refused_changes_nothing() -> None:
    first = snapshot_message([], OPEN, 1)
    assert first is not None
    assert snapshot_message([first, *wrote([], "c2", error=True), result(call("c3"), "x")], [], 2) is first


def test_the_worker_reads_every_item_or_those_that_are_carried_without_the_words_around_them() -> None:
    assert listed_todos([], DONE) == "[x] (1) fix"
    first = snapshot_message([], OPEN, 1)
    assert first is not None
    assert listed_todos([first], []) == "[~] (1) fix"
    assert listed_todos([], []) == ""
