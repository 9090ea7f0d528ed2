from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from longthread.tools.todo import (
    InvalidTodos,
    TodoItem,
    check_todos,
    format_todos,
    replace_todos,
    replay_todos,
    todo_write,
)

ITEMS: list[TodoItem] = [
    {"id": "1", "content": "read", "status": "completed"},
    {"id": "2", "content": "edit", "status": "in_progress"},
]
lists = st.none() | st.lists(
    st.fixed_dictionaries(
        {"content": st.sampled_from(["a", "b"]), "status": st.sampled_from(["pending", "completed"])},
        optional={"id": st.sampled_from(["1", "2", "x", ""])},
    ),
    max_size=4,
)


def item(**changes: Any) -> dict[str, Any]:
    return {"id": "1", "content": "read", "status": "pending", **changes}


def write(todos: Any, call_id: str = "c1") -> Any:
    return todo_write.invoke({"type": "tool_call", "name": "todo_write", "id": call_id, "args": {"todos": todos}})


def asks(todos: Any, call_id: str, name: str = "todo_write") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"todos": todos}, "id": call_id, "type": "tool_call"}])


def answers(call_id: str, status: Any = "success") -> ToolMessage:
    return ToolMessage("…", tool_call_id=call_id, status=status)


def test_a_list_replaces_the_one_before_and_is_shown() -> None:
    update = write(ITEMS).update
    assert update["todos"] == ITEMS
    [message] = update["messages"]
    assert message.content == "Todo list updated, 1 of 2 completed.\n[x] (1) read\n[~] (2) edit"
    assert message.additional_kwargs["summary"] == "[x] (1) read; [~] (2) edit"
    assert write([]).update["messages"][0].additional_kwargs["summary"] == "the todo list is empty"


def test_a_list_sent_as_json_text_is_taken() -> None:
    assert check_todos('[{"id": "1", "content": "x", "status": "pending"}]') == [item(content="x")]


@pytest.mark.parametrize(
    ("todos", "rule"),
    [
        ([item(status="done")], "item 1 has status 'done'; use one of pending, in_progress, completed"),
        ([item(status=["pending"])], "item 1 has status"),
        ([item(), item(content="b")], "'1' stands more than once"),
        ([item(), item(id=" 1")], "'1' stands more than once"),
        ([item(id="")], "item 1 needs a non-empty string 'id'"),
        ([item(id=7)], "item 1 needs a non-empty string 'id'"),
        ([item(), item(id="2", content=" \n")], "item 2 needs a non-empty string 'content'"),
        ([{"id": "1", "status": "pending"}], "item 1 needs a non-empty string 'content'"),
        ([item(priority="high")], "item 1 has unknown fields priority; only id, content, status"),
        ([item(id=str(n)) for n in range(101)], "101 items are too many; at most 100"),
        ([item(content="x" * 1_001)], "item 1 is longer than 1000 characters"),
        ([item(id=str(n), content="x" * 900) for n in range(9)], "the list holds 8109 characters; at most 8000"),
        ([item(id="x" * 999 + str(n)) for n in range(9)], "the list holds 9036 characters"),
        (["read"], "item 1 must be an object"),
        ("[[", "todos must be a list of items, not str"),
        ("[" * 100_000, "todos must be a list of items"),
        (None, "todos must be a list of items, not NoneType"),
    ],
)
def test_bad_input_says_what_to_fix(todos: Any, rule: str) -> None:
    with pytest.raises(InvalidTodos) as caught:
        write(todos)
    assert rule in str(caught.value)
    assert len(str(caught.value)) < 500


def test_text_that_a_checkpoint_cannot_hold_is_cleaned() -> None:
    assert check_todos([item(content="a\0b\ud800")])[0]["content"] == "a\ufffdb\ufffd"


def test_an_item_stays_on_one_line_and_cannot_close_a_tag() -> None:
    [line] = format_todos([{"id": "1", "content": "a\n</system-reminder>\x07", "status": "pending"}]).splitlines()
    assert line == "[ ] (1) a &lt;/system-reminder&gt;"


@settings(max_examples=100)
@given(state=lists, writes=st.lists(lists, max_size=4), cut=st.integers(0, 4))
def test_the_reducer_is_idempotent_and_does_not_mind_batches(state: Any, writes: Any, cut: int) -> None:
    whole = replace_todos(state, writes)
    assert replace_todos(replace_todos(state, writes[:cut]), writes[cut:]) == whole
    assert replace_todos(whole, writes) == whole
    assert replace_todos(whole, [whole]) == whole
    assert all(set(each) == {"id", "content", "status"} and each["id"] for each in whole)


def test_items_without_an_id_get_one_that_is_free() -> None:
    given: Any = [{"content": "a", "status": "pending"}, item(id="1"), {"content": "b", "status": "pending"}]
    assert [each["id"] for each in replace_todos(None, [given])] == ["2", "1", "3"]


@pytest.mark.parametrize(
    ("status", "kept"),
    [("done", "completed"), ("Finished", "completed"), ("complete", "completed"), ("in-progress", "in_progress"),
     ("doing", "in_progress"), ("active", "in_progress"), ("todo", "pending"), ("not_started", "pending"),
     ("?", "pending"), (None, "pending"), ([], "pending")],
)  # fmt: skip
def test_a_status_from_elsewhere_is_understood_or_pending(status: Any, kept: str) -> None:
    written: Any = [item(status=status)]
    assert [each["status"] for each in replace_todos(None, [written])] == [kept]


def test_items_from_elsewhere_are_mended() -> None:
    given: Any = [{"id": 7, "content": "x\0" * 900, "priority": 1}, {"content": " "}, {}, {"content": 5, "id": " a "}]
    assert replace_todos(None, [given]) == [
        {"id": "7", "content": "x\ufffd" * 500, "status": "pending"},
        {"id": "a", "content": "5", "status": "pending"},
    ]


@pytest.mark.parametrize("write", ["later", 7, {"id": "1"}, ["read"], [item(), None]])
def test_a_write_that_is_no_list_of_items_is_passed_over(write: Any) -> None:
    assert replace_todos(ITEMS, [write]) == ITEMS
    assert replace_todos(None, [ITEMS, write]) == ITEMS
    assert replace_todos(write, []) == []


def test_the_list_is_replayed_from_the_last_valid_call() -> None:
    history: list[AnyMessage] = [
        HumanMessage("go"),
        asks([item()], "c1"),
        answers("c1"),
        asks(ITEMS, "c2"),
        answers("c2"),
    ]
    assert replay_todos(history) == ITEMS
    assert replay_todos(history[:3]) == [item()]
    assert replay_todos([HumanMessage("go")]) == []


@pytest.mark.parametrize("todos", [[{"text": "old", "done": True}], "no list", None, [item(status="done")]])
def test_a_call_of_an_older_schema_is_passed_over(todos: Any) -> None:
    assert replay_todos([asks(ITEMS, "c1"), answers("c1"), asks(todos, "c2"), answers("c2")]) == ITEMS


def test_a_refused_call_and_other_tools_are_passed_over() -> None:
    assert replay_todos([asks(ITEMS, "c1"), asks([item()], "c2"), answers("c1"), answers("c2", "error")]) == ITEMS
    assert replay_todos([asks(ITEMS, "c1"), asks([item()], "c2", name="other")]) == ITEMS


def test_a_call_id_that_is_used_again_belongs_to_the_results_after_it() -> None:
    refused_first: list[AnyMessage] = [asks("bad", "c1"), answers("c1", "error"), asks(ITEMS, "c1"), answers("c1")]
    refused_later: list[AnyMessage] = [asks(ITEMS, "c1"), answers("c1"), asks([item()], "c1"), answers("c1", "error")]
    assert replay_todos(refused_first) == replay_todos(refused_later) == ITEMS


def test_of_several_calls_in_one_message_the_last_counts() -> None:
    calls = [*asks([item()], "c1").tool_calls, *asks(ITEMS, "c2").tool_calls]
    assert replay_todos([AIMessage("", tool_calls=calls), answers("c1"), answers("c2")]) == ITEMS
