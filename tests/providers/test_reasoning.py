"""Reasoning goes back to the house that wrote it, and to no other when the model is changed."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agents import Graph
from house_server import HouseServer, Said
from houses import KINDS, PLAN, Home, look
from longthread.graph import create_agent
from longthread.nodes.history.reasoning import without_foreign_reasoning

Run = Callable[[Graph, Any], dict[str, Any]]
CALLS = (("look", {"at": "one"}), ("look", {"at": "two"}))


def thought(house: str, run: Run) -> list[AnyMessage]:
    """A turn with reasoning and parallel calls, as that house and its package leave it."""
    kind, make = KINDS[house]
    with HouseServer(kind()) as server:
        server.answer(
            Said("I look.", calls=(*CALLS, PLAN), thinking="Deep thought."), Said("Done.", thinking="Deeper.")
        )
        found: list[AnyMessage] = run(create_agent(make(server.url), [look]), "go")["messages"]
        return found


@pytest.mark.parametrize("before", KINDS)
def test_a_history_of_any_house_is_taken_by_any_other(home: Home, run_twice: Run, before: str) -> None:
    messages = thought(before, run_twice)
    home.server.answer(Said("Yes."))
    run_twice(create_agent(home.model, [look]), {"messages": [*messages, HumanMessage("sure?")]})
    assert home.server.faults == []
    same = before.split()[0] == home.name.split()[0] and before != "chat"
    assert ("Deep thought." in str(home.spoken)) == same


def test_a_signature_goes_back_with_its_call(home: Home, run: Run) -> None:
    home.server.answer(Said("I look.", calls=CALLS, thinking="Deep thought."), Said("Done."))
    run(create_agent(home.model, [look]), "go")
    signed = {"anthropic": "signed1", "gemini": "c2lnbmVk0001", "gemini 3": "c2lnbmVk0001", "responses": "rs_1"}
    assert signed.get(home.name, "") in str(home.spoken)


def test_thinking_that_was_cut_off_before_its_signature_is_left_out() -> None:
    cut_off = AIMessage([{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "So"}])
    [kept] = without_foreign_reasoning([cut_off], "anthropic")
    assert kept.content == [{"type": "text", "text": "So"}]
    assert without_foreign_reasoning([cut_off], "mistralai") == [cut_off]


def test_the_raw_calls_are_not_kept_beside_the_calls(run: Run) -> None:
    for message in thought("gemini", run):
        assert "function_call" not in message.additional_kwargs
