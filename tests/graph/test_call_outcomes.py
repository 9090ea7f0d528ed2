"""Every call gets one result, whatever the model, the server or the tool did wrong."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.types import Command

from agents import Ask, results
from longthread.graph.scripted import call, say
from running import echo, fail, ran


def test_an_exception_is_an_error_result_with_its_text(ask: Ask) -> None:
    [found] = ran(ask, [fail], call("fail", text="no such table"))[2:]
    assert (found.status, found.content, found.name) == ("error", "Error: no such table", "fail")
    assert "no such table" in found.additional_kwargs["summary"]


def test_an_exception_without_text_is_named(ask: Ask) -> None:
    assert results(ran(ask, [fail], call("fail"))) == ["Error: ValueError"]


def test_a_tool_exception_of_langchain_is_an_error_result_too(ask: Ask) -> None:
    @tool
    def refuse() -> str:
        """Refuse."""
        raise ToolException("not today")

    [found] = ran(ask, [refuse], call("refuse"))[2:]
    assert (found.status, found.content) == ("error", "Error: not today")


def test_a_tool_that_is_cancelled_from_within_is_an_error_result(ask: Ask) -> None:
    @tool
    def stop() -> str:
        """Stop."""
        raise asyncio.CancelledError

    [found] = ran(ask, [stop], call("stop"))[2:]
    assert found.status == "error"
    assert "cancelled before it finished" in found.content


@pytest.mark.parametrize(
    ("args", "says"),
    [({}, "text"), ({"text": {"a": 1}}, "valid string"), ({"txt": "x"}, "text")],
    ids=["missing", "wrong type", "misspelt"],
)
def test_a_bad_argument_is_an_error_result_that_names_it(ask: Ask, args: dict[str, Any], says: str) -> None:
    [found] = ran(ask, [echo], say("", {"name": "echo", "args": args, "id": None, "type": "tool_call"}))[2:]
    assert found.status == "error"
    assert says in found.content
    assert found.content.startswith("Error")


def test_an_unknown_tool_is_an_error_result_that_names_those_there_are(ask: Ask) -> None:
    [found] = ran(ask, [echo], call("ecko", text="x"))[2:]
    assert found.status == "error"
    assert "todo_write, echo" in found.content


def test_arguments_that_are_no_json_are_an_error_result_and_nothing_is_run(ask: Ask) -> None:
    broken = {"name": "echo", "args": '{"text": "cut o', "id": "c9", "error": None, "type": "invalid_tool_call"}
    answer = AIMessage("", invalid_tool_calls=[broken], tool_calls=[call("echo", "c8", text="whole")])
    asked, *found = ran(ask, [echo], answer)[1:]
    assert [c["id"] for c in asked.tool_calls] == ["c8", "c9"]
    assert asked.invalid_tool_calls == []
    assert [(m.tool_call_id, m.status) for m in found] == [("c8", "success"), ("c9", "error")]
    assert '\'{"text": "cut o\'' in found[1].content


def test_doubled_and_missing_call_ids_are_told_apart(ask: Ask) -> None:
    answer = AIMessage(
        "", tool_calls=[{**call("echo", text=t), "id": i} for t, i in [("a", "x"), ("b", "x"), ("c", "")]]
    )
    assert results(ran(ask, [echo], answer)) == ["a", "b", "c"]


def test_call_ids_that_begin_anew_in_each_answer_are_told_apart(ask: Ask) -> None:
    steps = [say("", call("echo", "call_0", text=text)) for text in "abc"]
    messages = ran(ask, [echo], *steps)
    assert results(messages) == ["a", "b", "c"]
    assert len({m.tool_call_id for m in messages if isinstance(m, ToolMessage)}) == 3


def test_a_server_that_gives_every_answer_the_same_id_loses_none(ask: Ask) -> None:
    steps = [AIMessage("", id="msg", tool_calls=[{**call("echo", text=t), "id": "c"}]) for t in "ab"]
    messages = ran(ask, [echo], *steps)
    assert [m.type for m in messages] == ["human", "ai", "tool", "ai", "tool"]
    assert results(messages) == ["a", "b"]


def test_a_command_without_a_result_is_an_error_and_not_a_loop(ask: Ask) -> None:
    @tool
    def forget() -> Command[Any]:
        """Forget the result."""
        return Command(update={"todos": []})

    [found] = ran(ask, [forget], call("forget"))[2:]
    assert found.status == "error"
    assert "matching ToolMessage" in found.content


def test_an_empty_command_has_an_empty_result(ask: Ask) -> None:
    @tool
    def nothing() -> Command[Any]:
        """Do nothing."""
        return Command()

    assert results(ran(ask, [nothing], call("nothing"))) == ["(no output)"]


def test_a_result_under_a_foreign_call_id_still_answers_its_call(ask: Ask) -> None:
    @tool
    def stray() -> ToolMessage:
        """Answer another's call."""
        return ToolMessage("here", tool_call_id="other")

    [found] = ran(ask, [stray], call("stray", "c1"))[2:]
    assert (found.content, found.tool_call_id, found.name) == ("here", "c1", "stray")
