"""A request is a pure function of the state, and each is a prefix of the next."""

import json
from typing import Literal, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from histories import call, histories, numbered, result, sound_groups
from longthread.nodes.history.request import build_request
from validity import assert_valid, assert_valid_strict, wire

Role = Literal["system", "user"]
ROLES = st.sampled_from(["system", "user"])


def request(messages: list[AnyMessage], role: Role = "system", through: str | None = None) -> list[AnyMessage]:
    return build_request(messages, system_prompt="You help.", pruned_through=through, system_role=role)


@settings(max_examples=100, deadline=None)
@given(histories(), st.integers(0, 60))
def test_any_history_gives_a_valid_request_for_both_senders(history: list[AnyMessage], at: int) -> None:
    before = messages_to_dict(history)
    assert_valid(request(history, "system", f"m{at}"))
    assert_valid_strict(request(history, "user", f"m{at}"))
    assert messages_to_dict(history) == before


@settings(max_examples=100, deadline=None)
@given(sound_groups(), ROLES, st.data())
def test_a_request_is_a_prefix_of_every_later_one(
    grouped: list[list[AnyMessage]], role: Role, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, len(grouped)))
    earlier = wire(request([message for group in grouped[:cut] for message in group], role))
    later = wire(request([message for group in grouped for message in group], role))
    assert later[: len(earlier)] == earlier


@settings(max_examples=50, deadline=None)
@given(histories(), ROLES)
def test_the_same_history_gives_the_same_bytes(history: list[AnyMessage], role: Role) -> None:
    loaded = messages_from_dict(json.loads(json.dumps(messages_to_dict(history))))
    again = request(cast(list[AnyMessage], loaded), role)
    assert json.dumps(messages_to_dict(again)) == json.dumps(messages_to_dict(request(history, role)))


def test_the_system_prompt_comes_first() -> None:
    history: list[AnyMessage] = [SystemMessage("Be brief."), HumanMessage("hi")]
    assert request(history) == [SystemMessage("You help."), *history]
    assert request(history, "user") == [SystemMessage("You help.\n\nBe brief."), HumanMessage("hi")]


def test_without_a_system_prompt_there_is_none() -> None:
    history: list[AnyMessage] = [HumanMessage("hi")]
    assert build_request(history, system_prompt=None, pruned_through=None, system_role="user") == history


def test_a_user_who_interrupts_a_run_gets_a_valid_request() -> None:
    history = numbered([HumanMessage("go"), AIMessage("", tool_calls=[call("c1")]), HumanMessage("stop")])
    assert [message.type for message in request(history)] == ["system", "human", "ai", "tool", "human"]


def test_a_result_that_is_pruned_is_shown_by_its_summary() -> None:
    history = numbered([HumanMessage("go"), AIMessage("", tool_calls=[call("c1")]), result(call("c1"), "x" * 900)])
    assert len(str(request(history, through="m2")[3].content)) < 300


def test_a_late_result_is_pruned_where_it_stands_in_the_request() -> None:
    asking, late = AIMessage("", tool_calls=[call("c1")]), result(call("c1"), "x" * 900)
    shown = request(numbered([asking, HumanMessage("so?"), late]), through="m1")
    assert "cleared" in shown[2].additional_kwargs


@pytest.mark.parametrize("role", ["system", "user"])
def test_our_own_notes_do_not_reach_the_wire(role: Role) -> None:
    notes = {"request": {"n": 1, "first": "m0", "pruned": None}, "source": "todo_reminder", "summary": "ok"}
    history = numbered(
        [
            HumanMessage("go"),
            AIMessage("", tool_calls=[call("c1")]),
            result(call("c1"), "done"),
            SystemMessage("<system-reminder>\nx\n</system-reminder>"),
        ]
    )
    noted = [message.model_copy(update={"additional_kwargs": notes}) for message in history]
    payload = ChatOpenAI(model="gpt-4o", api_key=SecretStr("none"))._get_request_payload(request(noted, role))
    assert {key for message in payload["messages"] for key in message} == {
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
    }
