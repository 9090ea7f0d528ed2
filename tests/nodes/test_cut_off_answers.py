"""Calls that the output limit broke off, and calls whose arguments are no object: answered, never run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agents import AT_ONCE, Graph, ask_async, ask_sync, history, results, thread
from compactions import agent, looks, small, summary, words
from longthread.graph import ScriptedChatModel, create_agent, resolve_model
from longthread.graph.scripted import call, say
from openai_server import OpenAIServer, Reply
from workers import outcome

Run = Callable[[Graph, Any], Any]
CUT = '{"path": "a.txt", "content": "line 1\\nline 3 is cut he'
LONG = Reply(calls=(("write_file", {}),), raw=CUT, finish_reason="length")
REFUSED = "Error: the answer was cut off by the output limit inside this call, so nothing was run."


@tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


def streamed(graph: Graph, given: str) -> None:
    list(graph.stream({"messages": given}, thread(), stream_mode="messages"))


@pytest.fixture(params=[ask_sync, ask_async, streamed])
def run(request: pytest.FixtureRequest) -> Run:
    found: Run = request.param
    return found


def served(server: OpenAIServer, **options: Any) -> Graph:
    model = resolve_model("openai:test", base_url=server.base_url)
    return create_agent(model, [echo], checkpointer=InMemorySaver(), retry=AT_ONCE, **options)


def test_a_file_is_not_overwritten_with_the_stump_of_a_call(
    run: Run, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.answer(LONG, "I see.")
    graph = served(openai_server, workspace=tmp_path)
    run(graph, "write it")
    assert not (tmp_path / "a.txt").exists()
    assert results(history(graph))[0].startswith(REFUSED)
    assert openai_server.faults == []


def test_the_calls_before_the_one_that_was_cut_off_are_run(run: Run, openai_server: OpenAIServer) -> None:
    calls: Any = (("echo", {"text": "a"}), ("echo", {}))
    openai_server.answer(Reply(calls=calls, raw='{"text": "b', finish_reason="length"), "I see.")
    run(graph := served(openai_server), "go")
    whole, cut = results(history(graph))
    assert whole == "a"
    assert cut.startswith(REFUSED)


def test_a_todo_list_that_was_cut_off_leaves_the_list_as_it_was(run: Run, openai_server: OpenAIServer) -> None:
    kept = {"id": "1", "content": "mend it", "status": "pending"}
    cut = '{"todos": [{"id": "2", "content": "a", "status": "pending"}, {"id": "3'
    openai_server.answer(
        Reply(calls=(("todo_write", {"todos": [kept]}),)),
        Reply(calls=(("todo_write", {}),), raw=cut, finish_reason="length"),
        "I see.",
    )
    run(graph := served(openai_server), "plan it")
    assert [item["id"] for item in graph.get_state(thread()).values["todos"]] == ["1"]


@pytest.mark.parametrize("raw", ['["a.txt"]', '"a.txt"', "17"])
def test_streamed_arguments_that_are_no_object_get_an_answer(openai_server: OpenAIServer, raw: str) -> None:
    openai_server.answer(Reply(calls=(("echo", {}),), raw=raw), "I see.")
    streamed(graph := served(openai_server), "go")
    assert results(history(graph))[0].startswith("Error: the arguments were not a JSON object")
    assert openai_server.faults == []


@pytest.mark.parametrize("raw", ['["a.txt"]', '"a.txt"', "17"])
def test_other_arguments_that_are_no_object_are_asked_for_again(openai_server: OpenAIServer, raw: str) -> None:
    openai_server.answer(Reply(calls=(("echo", {}),), raw=raw), Reply(calls=(("echo", {"text": "a"}),)), "Done.")
    ask_sync(graph := served(openai_server), "go")
    assert results(history(graph)) == ["a"]


SAYS_SO: list[dict[str, Any]] = [
    {"finish_reason": "length"},
    {"finish_reason": "MAX_TOKENS"},
    {"stop_reason": "max_tokens"},
    {"done_reason": "length"},
    {"status": "incomplete"},
]


def told(answer: AIMessage) -> list[AnyMessage]:
    found: list[AnyMessage] = ask_sync(create_agent(ScriptedChatModel([answer, "Done."]), [echo]), "go")["messages"]
    return found


@pytest.mark.parametrize("metadata", SAYS_SO)
def test_whatever_a_house_calls_its_limit_the_last_call_is_not_run(metadata: dict[str, Any]) -> None:
    answer = AIMessage("", tool_calls=[call("echo", "1", text="a"), call("echo", "2", text="b")])
    whole, cut = results(told(answer.model_copy(update={"response_metadata": metadata})))
    assert whole == "a"
    assert cut.startswith(REFUSED)


def test_a_cut_call_that_was_not_completed_leaves_the_others_alone() -> None:
    broken = invalid_tool_call(name="echo", args='{"text": "b', id="2", error=None)
    answer = say("", call("echo", "1", text="a"), finish_reason="length")
    found = told(answer.model_copy(update={"invalid_tool_calls": [broken]}))
    assert results(found)[0] == "a"
    assert results(found)[1].startswith(REFUSED)


def test_arguments_that_slipped_past_the_types_are_no_exception() -> None:
    odd: Any = {"name": "echo", "args": ["a"], "id": "1", "type": "tool_call"}
    found = told(AIMessage("").model_copy(update={"tool_calls": [odd]}))
    assert results(found)[0].startswith("Error: the arguments were not a JSON object")


def test_a_model_that_never_says_why_it_ended_is_taken_at_its_word() -> None:
    assert told(AIMessage("Done.", response_metadata={"model_provider": "house"}))[-1].content == "Done."


def test_a_request_of_the_worker_whose_stream_ends_early_is_made_again(openai_server: OpenAIServer) -> None:
    whole: Any = (("write_summary", {"text": summary("the whole of it")}),)
    openai_server.answer(Reply(calls=whole, ended_after=12), Reply(calls=whole))
    by = resolve_model("openai:test", base_url=openai_server.base_url, streaming=True)
    steps = [*looks(4, 150), words(150)]
    graph = agent(steps, small(auto_read_budget=400), worker_model=by, checkpointer=InMemorySaver())
    ask_sync(graph, "mend the parser")
    ask_sync(graph, {"compact_request": ""})
    assert outcome(graph) == ("committed", 0)
    assert "the whole of it" in history(graph)[0].text
    assert len(openai_server.requests) == 2
