"""`resolve_model` against a server that speaks the real wire format."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from longthread.graph.models import resolve_model
from longthread.graph.scripted import call, say
from longthread.nodes.refusals import is_context_overflow, is_transient
from openai_server import OpenAIServer, Refusal, Reply

HELLO: list[BaseMessage] = [HumanMessage("hello")]
LOOK = Reply("I look.", calls=(("read_file", {"path": "src/main.py"}), ("read_file", {"path": "naïve.txt"})))
Ask = Callable[[ChatOpenAI], AIMessage]


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return path


def model_of(server: OpenAIServer, **settings: Any) -> ChatOpenAI:
    model = resolve_model("openai:test", base_url=server.base_url, **settings)
    assert isinstance(model, ChatOpenAI)
    return model


def streamed(model: ChatOpenAI) -> AIMessage:
    chunks = list(model.stream(HELLO))
    whole = sum(chunks[1:], start=chunks[0])
    assert isinstance(whole, AIMessageChunk)
    return whole


async def astreamed(model: ChatOpenAI) -> AIMessage:
    chunks = [chunk async for chunk in model.astream(HELLO)]
    whole = sum(chunks[1:], start=chunks[0])
    assert isinstance(whole, AIMessageChunk)
    return whole


WAYS: dict[str, Ask] = {
    "invoke": lambda model: model.invoke(HELLO),
    "ainvoke": lambda model: asyncio.run(model.ainvoke(HELLO)),
    "stream": streamed,
    "astream": lambda model: asyncio.run(astreamed(model)),
}


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest) -> Ask:
    return WAYS[request.param]


@pytest.fixture(params=["stream", "astream"])
def stream(request: pytest.FixtureRequest) -> Ask:
    return WAYS[request.param]


def test_text_calls_and_usage_arrive_every_way(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.answer(LOOK)
    answer = ask(model_of(openai_server))
    assert answer.content == "I look."
    assert [(c["id"], c["args"]["path"]) for c in answer.tool_calls] == [
        ("call_1_1", "src/main.py"),
        ("call_1_2", "naïve.txt"),
    ]
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["input_tokens"] == 9
    assert answer.response_metadata["finish_reason"] == "tool_calls"


def test_usage_is_asked_for_while_streaming(openai_server: OpenAIServer, stream: Ask) -> None:
    openai_server.answer("ok", "ok")
    assert stream(model_of(openai_server)).usage_metadata is not None
    assert openai_server.requests[0]["stream_options"] == {"include_usage": True}
    assert stream(model_of(openai_server, stream_usage=False)).usage_metadata is None


def test_a_server_that_never_reports_usage_is_no_error(openai_server: OpenAIServer, ask: Ask) -> None:
    openai_server.usage = False
    openai_server.answer("ok")
    assert ask(model_of(openai_server)).usage_metadata is None


def test_tokens_arrive_one_by_one(openai_server: OpenAIServer) -> None:
    openai_server.answer(Reply("one two three", delay=0.05))
    began = time.monotonic()
    arrived = [(c.text, time.monotonic() - began) for c in model_of(openai_server).stream(HELLO) if c.text]
    assert [text for text, _ in arrived] == ["one ", "two ", "three"]
    assert arrived[2][1] - arrived[0][1] > 0.08


OVERFLOWS = [
    Refusal.too_long(),
    Refusal(400, "prompt is too long: 208656 tokens > 200000 maximum"),
    Refusal(400, "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it"),
    Refusal(413, "Request exceeds the maximum size", type="request_too_large"),
]
PASSING = [
    Refusal.rate_limited(),
    Refusal(500, "The server had an error while processing your request."),
    Refusal(503, "Overloaded", headers={"Retry-After": "1"}),
]
LASTING = [
    Refusal(401, "Incorrect API key provided", code="invalid_api_key"),
    Refusal(404, "The model `test` does not exist", code="model_not_found"),
    Refusal(429, "You exceeded your current quota", type="insufficient_quota", code="insufficient_quota"),
    Refusal(400, "Unsupported value: 'temperature'"),
]
KINDS = [(r, "overflow") for r in OVERFLOWS] + [(r, "passing") for r in PASSING] + [(r, "lasting") for r in LASTING]


def kind_of(error: BaseException) -> str:
    assert not (is_context_overflow(error) and is_transient(error))
    return "overflow" if is_context_overflow(error) else "passing" if is_transient(error) else "lasting"


@pytest.mark.parametrize(("refusal", "kind"), KINDS, ids=[f"{r.status} {r.message[:20]}" for r, _ in KINDS])
def test_refusals_are_told_apart_and_asked_once(
    openai_server: OpenAIServer, ask: Ask, refusal: Refusal, kind: str
) -> None:
    openai_server.answer(refusal)
    with pytest.raises(Exception, match=r".") as caught:
        ask(model_of(openai_server))
    assert kind_of(caught.value) == kind
    assert len(openai_server.requests) == 1


BROKEN = {
    "cut before the first word": (Reply("one two", cut_after=0), "passing"),
    "cut in the text": (Reply("one two", cut_after=2), "passing"),
    "cut in the arguments": (Reply(calls=LOOK.calls, cut_after=3), "passing"),
    "half an event": (Reply("one two", half_event_after=2), "passing"),
    "server error": (Reply("one two", error_after=(2, Refusal(500, "oh", type="server_error"))), "passing"),
    "overflow": (Reply("one two", error_after=(1, Refusal.too_long())), "overflow"),
    "rate limit": (Reply("one two", error_after=(1, Refusal.rate_limited())), "passing"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_stream_that_breaks_is_an_error_of_its_kind(openai_server: OpenAIServer, stream: Ask, name: str) -> None:
    reply, kind = BROKEN[name]
    openai_server.answer(reply)
    with pytest.raises(Exception, match=r".*") as caught:
        stream(model_of(openai_server))
    assert kind_of(caught.value) == kind


@pytest.mark.parametrize("reply", [Reply(silent=True), Reply("too late", delay=5.0)])
def test_a_server_that_does_not_answer_in_time_is_a_passing_error(
    openai_server: OpenAIServer, ask: Ask, reply: Reply
) -> None:
    openai_server.answer(reply)
    began = time.monotonic()
    with pytest.raises(Exception, match=r".*") as caught:
        ask(model_of(openai_server, timeout=0.3))
    assert kind_of(caught.value) == "passing"
    assert time.monotonic() - began < 3


def test_a_server_that_is_not_there_is_a_passing_error(ask: Ask) -> None:
    with pytest.raises(Exception, match=r".") as caught:
        ask(model_of(gone()))
    assert kind_of(caught.value) == "passing"


def test_an_address_without_a_scheme_is_a_lasting_error(ask: Ask) -> None:
    model = resolve_model("openai:test", base_url="127.0.0.1:9/v1")
    assert isinstance(model, ChatOpenAI)
    with pytest.raises(Exception, match=r".") as caught:
        ask(model)
    assert kind_of(caught.value) == "lasting"


def gone() -> OpenAIServer:
    with OpenAIServer() as server:
        return server


def test_a_wrong_key_is_refused_and_the_right_one_let_in(openai_server: OpenAIServer) -> None:
    openai_server.api_key = "secret"
    openai_server.answer("ok")
    with pytest.raises(Exception, match="Incorrect API key"):
        model_of(openai_server).invoke(HELLO)
    assert model_of(openai_server, api_key="secret").invoke(HELLO).content == "ok"


def test_the_window_of_the_server_refuses_longer_requests(openai_server: OpenAIServer) -> None:
    openai_server.context_window = 50
    openai_server.answer("ok")
    model = model_of(openai_server)
    with pytest.raises(Exception, match="maximum context length is 50 tokens") as caught:
        model.invoke("x" * 400)
    assert is_context_overflow(caught.value)
    assert model.invoke("x").content == "ok"


CALLED = say("", call("read_file", "c1", path="a"), call("read_file", "c2", path="b"))
RESULTS = [ToolMessage("a", tool_call_id="c1"), ToolMessage("b", tool_call_id="c2")]


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([*HELLO, CALLED, *RESULTS], None),
        ([*HELLO, CALLED, *reversed(RESULTS), SystemMessage("reminder")], None),
        ([*HELLO, CALLED, RESULTS[0]], "did not have response messages: c2"),
        ([*HELLO, CALLED, RESULTS[0], HumanMessage("wait"), RESULTS[1]], "did not have response messages: c2"),
        ([*HELLO, RESULTS[0]], "must be a response to a preceeding message"),
        ([*HELLO, CALLED, *RESULTS, RESULTS[1]], "must be a response to a preceeding message"),
        ([*HELLO, say("", call("read_file", "c1"), call("read_file", "c1")), RESULTS[0]], "Duplicate value"),
        ([*HELLO, say("", call("no such name!", "c1")), RESULTS[0]], "does not match pattern"),
        ([], "empty array"),
    ],
)
def test_the_server_refuses_what_a_real_one_would(
    openai_server: OpenAIServer, history: list[BaseMessage], says: str | None
) -> None:
    openai_server.answer("ok")
    model = model_of(openai_server)
    if says is None:
        assert model.invoke(history).content == "ok"
        return
    with pytest.raises(Exception, match=says) as caught:
        model.invoke(history)
    assert kind_of(caught.value) == "lasting"
    assert len(openai_server.faults) == 1


def test_a_strict_chat_template_takes_system_messages_at_the_head_only(openai_server: OpenAIServer) -> None:
    openai_server.system_first = True
    openai_server.answer("ok")
    model = model_of(openai_server)
    with pytest.raises(Exception, match="must be at the beginning"):
        model.invoke([*HELLO, SystemMessage("late")])
    assert model.invoke([SystemMessage("first"), *HELLO]).content == "ok"


def test_tools_that_no_server_would_take_are_refused(openai_server: OpenAIServer) -> None:
    openai_server.answer("ok")
    model = model_of(openai_server)
    with pytest.raises(Exception, match="Tool names must be unique"):
        model.bind_tools([read_file, read_file]).invoke(HELLO)
    assert model.bind_tools([read_file]).invoke(HELLO).content == "ok"


def test_answers_may_come_from_a_function_of_the_request(openai_server: OpenAIServer) -> None:
    openai_server.answer_by(lambda body: f"you said {body['messages'][-1]['content']}")
    assert model_of(openai_server).invoke(HELLO).content == "you said hello"
    assert model_of(openai_server).invoke("bye").content == "you said bye"
