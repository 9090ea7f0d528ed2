"""Threads as JSON lines: what goes out comes in again, and what is no message is refused by its line."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from agents import plan, thread, todo
from compactions import agent, sources, values
from long_threads import EVERYTHING, TODOS, looked, said
from longthread.graph import ThreadError, create_agent, export_thread, import_thread, open_saver, transcript
from longthread.graph.scripted import ScriptedChatModel, say
from longthread.graph.threads import describe

LINE = json.dumps({"type": "human", "data": {"content": "hello", "type": "human"}}) + "\n"


def test_an_export_is_the_whole_conversation_one_message_a_line(saver: Any) -> None:
    looked(saver)
    lines = list(export_thread(saver, "t"))
    assert len(lines) == len(transcript(saver, "t"))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    assert [json.loads(line)["data"]["content"] for line in lines if '"type": "human"' in line] == EVERYTHING[:1]


def test_a_live_export_is_what_the_next_request_is_made_from(saver: Any) -> None:
    graph = looked(saver)
    lines = list(export_thread(saver, "t", live=True))
    assert len(lines) == len(values(graph)["messages"])
    assert "compaction_summary" in lines[0]


def test_an_imported_thread_is_the_same_conversation(saver: Any) -> None:
    looked(saver)
    import_thread(saver, "copy", export_thread(saver, "t"))
    assert transcript(saver, "copy") == transcript(saver, "t")
    assert describe(saver, "copy").info.status == "done"


def test_an_imported_thread_has_its_todos_and_goes_on(saver: Any) -> None:
    agent([say("", plan(todo())), "Begun."], None, checkpointer=saver).invoke({"messages": [("user", "go")]}, thread())
    import_thread(saver, "copy", export_thread(saver, "t"))
    graph = create_agent(ScriptedChatModel(["More."]), checkpointer=saver)
    graph.invoke({"messages": [("user", "on")]}, thread("copy"))
    assert values(graph, thread("copy"))["todos"] == [todo()]
    assert said(values(graph, thread("copy"))["messages"]) == ["go", "", "Begun.", "on", "More."]


def test_a_compacted_history_is_imported_with_its_summary(saver: Any) -> None:
    graph = looked(saver)
    import_thread(saver, "copy", export_thread(saver, "t", live=True))
    assert values(graph, thread("copy"))["messages"] == values(graph)["messages"]
    assert sources(transcript(saver, "copy"))[0] != "compaction_summary"


def test_a_conversation_that_stops_in_the_middle_goes_on_when_it_is_resumed(saver: Any) -> None:
    import_thread(saver, "copy", [LINE])
    assert describe(saver, "copy").info.status == "unfinished"
    graph = create_agent(ScriptedChatModel(["Hello to you."]), checkpointer=saver)
    assert said(graph.invoke(None, thread("copy"))["messages"]) == ["hello", "Hello to you."]


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "[1]",
        "{}",
        '{"type": "remove", "data": {"id": "x"}}',
        '{"type": "human"}',
        '{"type": "human", "data": 3}',
        '{"type": "human", "data": {"content": {"a": 1}}}',
        '{"type": "ai", "data": {"content": "x", "tool_calls": [3]}}',
        '{"type": "constructor", "lc": 1, "id": ["os", "system"], "data": {}}',
        "[" * 100_000,
    ],
)
def test_a_line_that_holds_no_message_is_named(saver: Any, line: str) -> None:
    with pytest.raises(ThreadError, match="line 2 holds no message"):
        import_thread(saver, "copy", [LINE, line])
    assert saver.get_tuple(thread("copy")) is None


def test_nothing_is_imported_over_a_thread_or_from_nothing(saver: Any) -> None:
    import_thread(saver, "copy", ["\n", LINE])
    with pytest.raises(ThreadError, match="named 'copy' already"):
        import_thread(saver, "copy", [LINE])
    with pytest.raises(ThreadError, match="no message to import"):
        import_thread(saver, "other", ["\n"])


def test_what_a_database_cannot_hold_is_replaced_on_import(saver: Any) -> None:
    line = json.dumps({"type": "human", "data": {"content": "a\x00b\ud800", "id": "\x00", "type": "human"}})
    [message] = import_thread(saver, "copy", [line])
    assert (message.content, message.id) == ("a\ufffdb\ufffd", "\ufffd")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["content", "id", "name", "tool_calls", "tool_call_id", "additional_kwargs", "status"]
RECORD = st.fixed_dictionaries(
    {"type": st.sampled_from(["human", "ai", "system", "tool", "chat", "remove"])},
    optional={
        "data": st.dictionaries(
            st.sampled_from(["content", "id", "name", "tool_calls", "tool_call_id", "additional_kwargs", "status"]),
            JSON,
        )
        | JSON
    },
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORD | JSON, max_size=3))
def test_any_lines_are_imported_or_refused_as_a_thread_error(records: list[Any]) -> None:
    with open_saver(":memory:") as saver:
        try:
            found = import_thread(saver, "copy", [json.dumps(record) for record in records])
        except ThreadError:
            assert saver.get_tuple(thread("copy")) is None
        else:
            assert transcript(saver, "copy") == found


def test_todos_are_restored_over_all_segments(saver: Any) -> None:
    looked(saver)
    import_thread(saver, "copy", export_thread(saver, "t"))
    assert describe(saver, "copy").info.todos == TODOS


def test_two_messages_of_one_id_are_both_imported() -> None:
    lines = [json.dumps({"type": "human", "data": {"content": text, "id": "1"}}) for text in ("a", "b")]
    assert [message.content for message in import_thread(InMemorySaver(), "joined", lines)] == ["a", "b"]


def test_a_count_that_no_checkpoint_can_hold_is_named() -> None:
    usage = {"input_tokens": 10**20, "output_tokens": 5, "total_tokens": 1}
    line = json.dumps({"type": "ai", "data": {"content": "a", "usage_metadata": usage}})
    with pytest.raises(ThreadError, match=r"line 1 holds no message.*64 bit"):
        import_thread(InMemorySaver(), "huge", [line])
