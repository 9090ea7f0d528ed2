"""A model that never answers: bounded by its time limit, an error of its kind, and the run goes on later."""

import time
from typing import Any

import pytest
from langgraph.types import RetryPolicy

from agents import Ask, shape, thread
from compactions import small, summary, words
from longthread.graph import create_agent, resolve_model
from longthread.nodes.refusals import is_transient
from openai_server import OpenAIServer, Reply

TWICE = RetryPolicy(initial_interval=0.001, max_attempts=2, jitter=False, retry_on=is_transient)


def agent(server: OpenAIServer, saver: Any, **options: Any) -> Any:
    model = resolve_model("openai:test", base_url=server.base_url, timeout=0.4)
    return create_agent(model, retry=TWICE, checkpointer=saver, **options)


def test_a_run_ends_in_time_and_comes_to_the_same_end_when_it_is_resumed(
    ask: Ask, openai_server: OpenAIServer, saver: Any
) -> None:
    graph, began = agent(openai_server, saver), time.monotonic()
    openai_server.answer_by(lambda _: Reply("x", silent=True))
    with pytest.raises(Exception, match=r"(?i)time") as silent:
        ask(graph, "say hello")
    assert is_transient(silent.value)
    assert time.monotonic() - began < 10
    openai_server.answer_by(lambda _: Reply("Hello."))
    found = ask(graph, None)
    assert [part[:2] for part in shape(found["messages"])] == [("human", "say hello"), ("ai", "Hello.")]


def test_a_worker_that_never_answers_is_a_failed_attempt_and_the_answer_stands(
    openai_server: OpenAIServer, saver: Any
) -> None:
    def reply(body: dict[str, Any]) -> Reply:
        worker = any(tool["function"]["name"] == "write_summary" for tool in body["tools"])
        return Reply("x", silent=True) if worker else Reply("Answered.")

    openai_server.answer_by(reply)
    graph = agent(openai_server, saver, compaction=small(compact_threshold=800))
    for text in (words(500), words(500, "more")):
        found = graph.invoke({"messages": [("user", text)]}, thread())
    assert found["messages"][-1].text == "Answered."
    compaction = graph.get_state(thread()).values["compaction"]
    assert (compaction["outcome"], compaction["failures"]) == ("failed", 1)
    openai_server.answer_by(lambda _: Reply(summary()))
    graph.invoke({"messages": [], "compact_request": ""}, thread())
    assert graph.get_state(thread()).values["compaction"]["outcome"] == "committed"
