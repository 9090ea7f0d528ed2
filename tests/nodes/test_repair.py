"""Requests are valid whatever happened to the history."""

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)

from histories import call, histories, numbered, result, sound_groups
from longthread.nodes.history.repair import INTERRUPTED_TEXT, UNPARSED_TEXT, repair
from longthread.tools.results import text_of
from validity import assert_valid

C1, C2 = call("c1"), call("c2")
USER = HumanMessage("and now?")


def contents(messages: list[AnyMessage]) -> list[str]:
    return [text_of(message) for message in messages]


@settings(max_examples=100, deadline=None)
@given(histories())
def test_any_history_becomes_valid_and_stays_so(history: list[AnyMessage]) -> None:
    before = messages_to_dict(history)
    repaired = repair(history)
    assert_valid(repaired)
    assert repair(repaired) == repaired
    assert messages_to_dict(history) == before
    assert messages_to_dict(repair(history)) == messages_to_dict(repaired)


@settings(max_examples=50, deadline=None)
@given(sound_groups())
def test_a_sound_history_is_left_as_it_is(grouped: list[list[AnyMessage]]) -> None:
    history = [message for group in grouped for message in group]
    assert repair(history) == history


@settings(max_examples=100, deadline=None)
@given(histories(), histories())
def test_a_repaired_history_that_was_stored_grows_into_a_valid_one(
    history: list[AnyMessage], more: list[AnyMessage]
) -> None:
    assert_valid(repair([*repair(history), *more]))


@settings(max_examples=100, deadline=None)
@given(histories())
def test_no_user_message_is_lost(history: list[AnyMessage]) -> None:
    def users(messages: list[AnyMessage]) -> list[str | None]:
        return [message.id for message in messages if isinstance(message, HumanMessage)]

    assert users(repair(history)) == users(history)


def test_results_out_of_order_follow_their_calls() -> None:
    repaired = repair([AIMessage("", tool_calls=[C1, C2]), result(C2, "two"), result(C1, "one")])
    assert contents(repaired) == ["", "one", "two"]


def test_a_user_message_between_two_results_moves_behind_them() -> None:
    repaired = repair([AIMessage("", tool_calls=[C1, C2]), result(C1, "one"), USER, result(C2, "two")])
    assert contents(repaired) == ["", "one", "two", "and now?"]


def test_a_system_message_inside_a_group_moves_behind_it() -> None:
    repaired = repair([AIMessage("", tool_calls=[C1]), SystemMessage("remember"), result(C1, "one")])
    assert contents(repaired) == ["", "one", "remember"]


def test_a_call_without_result_is_said_to_be_interrupted() -> None:
    asking = AIMessage("", tool_calls=[C1], id="a")
    first, second = repair([asking, USER]), repair([asking, USER, AIMessage("done")])
    assert isinstance(first[1], ToolMessage)
    assert (first[1].content, first[1].status, first[1].tool_call_id) == (INTERRUPTED_TEXT, "error", "c1")
    assert first[1].id
    assert second[:3] == first


def test_a_late_result_fills_its_gap() -> None:
    repaired = repair([AIMessage("", tool_calls=[C1]), USER, AIMessage("working"), result(C1, "late")])
    assert contents(repaired) == ["", "late", "and now?", "working"]


def test_a_late_result_takes_the_place_of_a_stored_stand_in() -> None:
    stored = repair([AIMessage("", tool_calls=[C1]), USER])
    assert contents(repair([*stored, result(C1, "late")])) == ["", "late", "and now?"]


def test_a_result_without_call_is_dropped() -> None:
    assert repair([USER, result(C1, "whose?")]) == [USER]


def test_of_two_results_of_one_call_the_first_counts() -> None:
    repaired = repair([AIMessage("", tool_calls=[C1]), result(C1, "first"), USER, result(C1, "second")])
    assert contents(repaired) == ["", "first", "and now?"]


def test_an_id_used_again_belongs_to_the_nearest_call_and_is_made_unique() -> None:
    asking = AIMessage("", tool_calls=[C1])
    repaired = repair([asking, USER, asking, result(C1, "second")])
    assert contents(repaired) == ["", INTERRUPTED_TEXT, "and now?", "", "second"]
    assert_valid(repaired)
    answer = repaired[-1]
    assert isinstance(answer, ToolMessage)
    assert (answer.tool_call_id, answer.additional_kwargs["call"]) != ("c1", "c1")
    assert answer.additional_kwargs["call"] == "c1"


@pytest.mark.parametrize("call_id", ["", "same"])
def test_calls_of_one_message_under_one_id_get_their_results_in_order(call_id: str) -> None:
    first, second = call(call_id, path="a"), call(call_id, path="b")
    repaired = repair([AIMessage("", tool_calls=[first, second]), result(first, "a"), result(second, "b")])
    assert_valid(repaired)
    assert contents(repaired) == ["", "a", "b"]


@pytest.mark.parametrize(
    ("kind", "key"), [({"type": "tool_use"}, "id"), ({"type": "function_call", "id": "fc_1"}, "call_id")]
)
def test_a_new_id_reaches_the_block_that_the_provider_wrote(kind: dict[str, str], key: str) -> None:
    asking = AIMessage([{**kind, key: "c1", "name": "read_file"}], tool_calls=[C1])
    again = repair([asking, result(C1, "a"), asking, result(C1, "b")])[2]
    assert isinstance(again, AIMessage)
    assert isinstance(again.content[0], dict)
    assert again.content[0][key] == again.tool_calls[0]["id"] != "c1"


def test_a_block_of_a_call_that_is_not_listed_is_dropped() -> None:
    used = {"type": "tool_use", "id": "c9", "name": "read_file", "input": {}}
    assert repair([USER, AIMessage([{"type": "text", "text": "hm"}, used])])[1].content == [
        {"type": "text", "text": "hm"}
    ]


def test_a_call_that_is_no_json_is_replayed_as_one_and_answered() -> None:
    broken = {"name": "grep", "args": '{"pattern": "x', "id": "c1", "error": None, "type": "invalid_tool_call"}
    asking = AIMessage.model_validate({"content": "", "invalid_tool_calls": [broken]})
    sound, answer = repair([asking])
    assert isinstance(sound, AIMessage)
    assert sound.tool_calls == [call("c1", "grep", invalid_arguments='{"pattern": "x')]
    assert answer.content == UNPARSED_TEXT


def test_an_assistant_message_that_says_nothing_is_dropped() -> None:
    thought = AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}])
    assert repair([USER, AIMessage(""), AIMessage(" \n"), thought]) == [USER]


def test_an_empty_user_message_says_so() -> None:
    assert contents(repair([HumanMessage(""), HumanMessage([])])) == ["(empty message)", "(empty message)"]


def test_blank_text_beside_a_call_is_left_out() -> None:
    asking = AIMessage([{"type": "text", "text": " "}, "\n"], tool_calls=[C1])
    spaced = AIMessage(" \n", tool_calls=[C2])
    repaired = repair([asking, result(C1, [{"type": "text", "text": ""}, "one"]), spaced])
    assert [message.content for message in repaired[:3]] == [[], [{"type": "text", "text": "one"}], ""]


def test_a_real_session_with_unanswered_calls_becomes_valid() -> None:
    path = Path(__file__).parents[3] / "shared" / "data" / "real_session.jsonl"
    if not path.exists():
        pytest.skip("the real session is not in the repository")
    loaded = messages_from_dict([json.loads(line) for line in path.read_text("utf-8").splitlines()])
    repaired = repair(cast(list[AnyMessage], loaded))
    assert_valid(repaired)
    assert contents(repaired).count(INTERRUPTED_TEXT) == 18
    assert repair(repaired) == repaired


def test_thousands_of_uses_of_one_id_are_told_apart() -> None:
    turn: list[AnyMessage] = [AIMessage("", tool_calls=[C1]), result(C1, "x")]
    history = numbered([USER, *(turn * 2_000)])
    repaired = repair(history)
    assert_valid(repaired)
    assert contents(repaired) == contents(history)


NAMES = {
    "functions.read_file": "functions_read_file",
    "no such tool!": "no_such_tool_",
    "x" * 200: "x" * 64,
    "": "unknown_tool",
    "  \n": "unknown_tool",
    "lösche": "l_sche",
}


@pytest.mark.parametrize(("name", "sound"), NAMES.items())
def test_a_name_that_no_provider_takes_is_made_valid_wherever_it_stands(name: str, sound: str) -> None:
    block = {"type": "tool_use", "id": "c1", "name": name, "input": {}}
    asked = AIMessage([block], tool_calls=[call("c1", name)])
    repaired = repair([USER, asked, result(call("c1", name), "no such tool")])
    assert_valid(repaired)
    answer = cast(AIMessage, repaired[1])
    assert answer.tool_calls[0]["name"] == cast(dict[str, str], answer.content[0])["name"] == repaired[2].name == sound
    assert repair(repaired) == repaired
