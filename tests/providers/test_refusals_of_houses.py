"""Refusals as the real packages raise them: too long, come again, or neither; and what the graph makes of them."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver

from agents import AT_ONCE, Graph, thread
from compacting import CONFIG, SUMMARY
from house_server import Refused, Said
from houses import Home
from longthread.graph import create_agent
from longthread.nodes.refusals import is_context_overflow, is_transient
from longthread.tools.errors import ContextRefused

Run = Callable[[Graph, Any], dict[str, Any]]
TOO_LONG = {
    "anthropic": Refused(400, "prompt is too long: 208656 tokens > 200000 maximum"),
    "gemini": Refused(400, "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."),
    "responses": Refused(
        400, "Your input exceeds the context window of this model. Please adjust it.", "context_length_exceeded"
    ),
    "chat": Refused(
        400,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens.",
        "context_length_exceeded",
    ),
}
COME_AGAIN = {
    "anthropic": Refused(429, "This request would exceed your rate limit of 30,000 input tokens per minute"),
    "gemini": Refused(
        429, "You exceeded your current quota. Quota exceeded for metric: input_token_count, limit: 250000"
    ),
    "responses": Refused(429, "Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 42389."),
    "chat": Refused(429, "Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 42389."),
}
BUSY = Refused(503, "The model is overloaded. Please try again later.")
WRONG = Refused(400, "Invalid value for 'tools'")


def refusal(home: Home, table: dict[str, Refused]) -> Refused:
    return table[home.name.split()[0]]


async def _astreamed(model: BaseChatModel) -> list[Any]:
    return [chunk async for chunk in model.astream("hi")]


CALLS: dict[str, Callable[[BaseChatModel], Any]] = {
    "invoke": lambda model: model.invoke("hi"),
    "stream": lambda model: list(model.stream("hi")),
    "ainvoke": lambda model: asyncio.run(model.ainvoke("hi")),
    "astream": lambda model: asyncio.run(_astreamed(model)),
}


def raised(home: Home, refused: Refused, way: str) -> Exception:
    home.server.answer(refused)
    with pytest.raises(Exception) as caught:  # noqa: PT011  # each package has a class of its own
        CALLS[way](home.model)
    return caught.value


@pytest.mark.parametrize("way", CALLS)
def test_each_refusal_is_told_apart(home: Home, way: str) -> None:
    answers = [refusal(home, TOO_LONG), refusal(home, COME_AGAIN), WRONG]
    errors = [raised(home, refused, way) for refused in answers]
    assert [is_context_overflow(error) for error in errors] == [True, False, False]
    assert [is_transient(error) for error in errors] == [False, True, False]
    assert is_transient(raised(home, BUSY, way))


def test_they_are_told_apart_inside_a_stream_too(home: Home) -> None:
    answers = [replace(refusal(home, table), in_stream=True) for table in (TOO_LONG, COME_AGAIN)]
    errors = [raised(home, refused, "stream") for refused in answers]
    assert [is_context_overflow(error) for error in errors] == [True, False]
    assert [is_transient(error) for error in errors] == [False, True]


def agent(home: Home, **options: Any) -> Graph:
    settings: dict[str, Any] = {"compaction": CONFIG.model_copy(update={"compact_threshold": None}), **options}
    return create_agent(home.model, checkpointer=InMemorySaver(), retry=AT_ONCE, **settings)


WRITTEN = Said("", calls=(("write_summary", {"text": SUMMARY}),))


def test_too_long_leads_to_one_compaction_and_one_more_request(home: Home, run_twice: Run) -> None:
    home.server.answer(Said("word " * 700), refusal(home, TOO_LONG), WRITTEN, Said("On."))
    graph = agent(home)
    run_twice(graph, "tell me")
    assert run_twice(graph, "go on")["messages"][-1].text == "On."
    [segment] = graph.get_state(thread()).values["segments"]
    assert segment["trigger"] == "context_refused"
    assert len(home.server.requests) == 4


def test_too_long_again_is_a_typed_error_and_the_run_is_unfinished(home: Home, run_twice: Run) -> None:
    home.server.answer(Said("word " * 700), refusal(home, TOO_LONG), WRITTEN, refusal(home, TOO_LONG))
    graph = agent(home)
    run_twice(graph, "tell me")
    with pytest.raises(ContextRefused):
        run_twice(graph, "go on")
    assert graph.get_state(thread()).tasks != ()


def test_a_rate_limit_is_tried_again_and_compacts_nothing(home: Home, run_twice: Run) -> None:
    home.server.answer(Said("word " * 700), refusal(home, COME_AGAIN), BUSY, Said("On."))
    graph = agent(home)
    run_twice(graph, "tell me")
    assert run_twice(graph, "go on")["messages"][-1].text == "On."
    assert graph.get_state(thread()).values["segments"] == []
