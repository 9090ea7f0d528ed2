import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from longthread.graph.scripted import ScriptedChatModel, ScriptExhausted, broken, call, say, scripted_tokens

HELLO: list[BaseMessage] = [HumanMessage("hello")]
Ask = Callable[[ScriptedChatModel, list[BaseMessage]], AIMessage]


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return path


def streamed(model: BaseChatModel, messages: list[BaseMessage]) -> AIMessage:
    whole: AIMessageChunk | None = None
    for chunk in model.stream(messages):
        assert isinstance(chunk, AIMessageChunk)
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    return whole


async def collected(model: BaseChatModel, messages: list[BaseMessage]) -> AIMessage:
    chunks = [chunk async for chunk in model.astream(messages)]
    whole = sum(chunks[1:], start=chunks[0])
    assert isinstance(whole, AIMessageChunk)
    return whole


WAYS: dict[str, Ask] = {
    "invoke": lambda model, messages: model.invoke(messages),
    "ainvoke": lambda model, messages: asyncio.run(model.ainvoke(messages)),
    "stream": streamed,
    "astream": lambda model, messages: asyncio.run(collected(model, messages)),
}


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest) -> Ask:
    return WAYS[request.param]


def test_every_way_of_asking_gives_the_same_answer(ask: Ask) -> None:
    step = say("I look first.", call("read_file", path="a.py"), call("read_file", "mine", path="b.py"))
    answer = ask(ScriptedChatModel([step]), HELLO)
    assert answer.content == "I look first."
    assert [(c["id"], c["args"]) for c in answer.tool_calls] == [
        ("scripted-1-1", {"path": "a.py"}),
        ("mine", {"path": "b.py"}),
    ]
    assert answer.id == "scripted-1"
    assert answer.response_metadata["model_name"] == "scripted"
    assert answer.response_metadata["finish_reason"] == "tool_calls"
    assert answer.usage_metadata == UsageMetadata(input_tokens=3, output_tokens=17, total_tokens=20)


@pytest.mark.parametrize(
    ("step", "content", "calls"),
    [
        ("Done.", "Done.", []),
        (call("read_file", path="a"), "", ["read_file"]),
        ([call("read_file", path="a"), call("grep", pattern="x")], "", ["read_file", "grep"]),
        (AIMessage("as it is"), "as it is", []),
        (lambda messages: f"you said {messages[-1].content}", "you said hello", []),
        ("", "", []),
    ],
)
def test_a_step_may_be_written_in_many_ways(ask: Ask, step: Any, content: str, calls: list[str]) -> None:
    answer = ask(ScriptedChatModel([step]), HELLO)
    assert answer.content == content
    assert [c["name"] for c in answer.tool_calls] == calls
    assert answer.response_metadata["finish_reason"] == ("tool_calls" if calls else "stop")


def test_what_a_step_brings_itself_stands(ask: Ask) -> None:
    own = UsageMetadata(input_tokens=70, output_tokens=5, total_tokens=75)
    cut_off = say("half a senten", finish_reason="length", usage=own)
    step = cut_off.model_copy(update={"id": "mine", "additional_kwargs": {"reasoning_content": "hm"}})
    answer = ask(ScriptedChatModel([step]), HELLO)
    assert (answer.id, answer.content, answer.usage_metadata) == ("mine", "half a senten", own)
    assert answer.response_metadata["finish_reason"] == "length"
    assert answer.additional_kwargs == {"reasoning_content": "hm"}


def test_content_of_blocks_and_a_call_that_is_no_json_survive(ask: Ask) -> None:
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": "hi", "index": 0}]
    failed = invalid_tool_call(name="write_summary", args="not json", id="c1", error=None)
    answer = ask(ScriptedChatModel([AIMessage(blocks, invalid_tool_calls=[failed])]), HELLO)
    assert answer.content == blocks
    assert [(c["name"], c["args"], c["id"]) for c in answer.invalid_tool_calls] == [("write_summary", "not json", "c1")]


def test_a_step_that_is_none_of_them_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a step must be a string.* not 3"):
        ScriptedChatModel([3]).invoke(HELLO)  # type: ignore[list-item]  # the wrong type is the point


def test_an_error_is_raised_and_a_retry_takes_the_next_step(ask: Ask) -> None:
    model = ScriptedChatModel([TimeoutError("busy"), ConnectionError, "Done."])
    with pytest.raises(TimeoutError, match="busy"):
        ask(model, HELLO)
    with pytest.raises(ConnectionError):
        ask(model, HELLO)
    assert ask(model, HELLO).content == "Done."
    assert model.calls == 3


def test_a_broken_stream_gives_its_words_first() -> None:
    stream = ScriptedChatModel([broken("half an answer", ConnectionResetError())]).stream(HELLO)
    assert [next(stream).text for _ in range(3)] == ["half ", "an ", "answer"]
    with pytest.raises(ConnectionResetError):
        next(stream)


def test_after_the_last_step_the_error_says_so() -> None:
    model = ScriptedChatModel(["one"])
    model.invoke(HELLO)
    with pytest.raises(ScriptExhausted, match="has 1 steps and none for request 2"):
        model.invoke(HELLO)


def test_bound_copies_share_the_position_and_the_record() -> None:
    model = ScriptedChatModel(["one", "two", "three"])
    bound = model.bind_tools([read_file], tool_choice="any")
    assert [m.invoke(HELLO).content for m in (bound, model, bound)] == ["one", "two", "three"]
    assert model.requests == bound.requests == [HELLO, HELLO, HELLO]
    assert [t["function"]["name"] for t in bound.tools] == ["read_file"]
    assert model.tools == []


def test_usage_counts_a_quarter_of_the_characters_of_the_whole_request() -> None:
    messages = [SystemMessage("x" * 94), HumanMessage("y" * 195), ToolMessage("z" * 96, tool_call_id="c1")]
    assert scripted_tokens(messages) == 100
    model = ScriptedChatModel(["ok", "ok"])
    plain = model.invoke(messages).usage_metadata
    bound = model.bind_tools([read_file]).invoke(messages).usage_metadata
    assert plain == UsageMetadata(input_tokens=100, output_tokens=1, total_tokens=101)
    assert bound is not None
    assert bound["input_tokens"] == scripted_tokens(messages, model.bind_tools([read_file]).tools) > 120


def test_usage_can_be_left_out_or_given_by_a_function(ask: Ask) -> None:
    silent = ScriptedChatModel(["ok"], usage=False)
    assert ask(silent, HELLO).usage_metadata is None
    counted = ask(ScriptedChatModel(["ok"], usage=lambda messages, answer: 1000 * len(messages)), HELLO)
    assert counted.usage_metadata == UsageMetadata(input_tokens=1000, output_tokens=1, total_tokens=1001)
    own = UsageMetadata(input_tokens=1, output_tokens=2, total_tokens=3)
    assert ask(ScriptedChatModel(["ok"], usage=lambda messages, answer: own), HELLO).usage_metadata == own


def test_a_script_in_a_new_process_goes_on_where_start_says() -> None:
    first = ScriptedChatModel(["one", "two"]).invoke(HELLO)
    again = ScriptedChatModel(["one", "two"], start=1).invoke([*HELLO, first])
    assert (again.content, again.id) == ("two", "scripted-2")


def test_position_by_history_needs_no_start_and_survives_dropped_messages() -> None:
    def new_process() -> ScriptedChatModel:
        return ScriptedChatModel(["one", "two", "three"], position="history")

    first = new_process().invoke(HELLO)
    second = new_process().invoke([*HELLO, first])
    third = new_process().invoke([SystemMessage("what came before is summarised"), second])
    fork = new_process().invoke([*HELLO, first])
    assert [m.content for m in (first, second, third, fork)] == ["one", "two", "three", "two"]


def test_position_by_history_passes_over_steps_that_raised() -> None:
    model = ScriptedChatModel(["one", TimeoutError(), "two", "three"], position="history")
    first = model.invoke(HELLO)
    with pytest.raises(TimeoutError):
        model.invoke([*HELLO, first])
    second = model.invoke([*HELLO, first])
    assert (second.content, second.id) == ("two", "scripted-3")
    assert model.invoke([*HELLO, first, second]).content == "three"


def test_a_function_as_the_whole_script_decides_from_the_request() -> None:
    def script(messages: list[BaseMessage]) -> Any:
        return "done" if isinstance(messages[-1], ToolMessage) else call("read_file", path="a")

    first = ScriptedChatModel(script).invoke(HELLO)
    second = ScriptedChatModel(script).invoke([*HELLO, first, ToolMessage("text", tool_call_id="scripted-1-1")])
    assert first.tool_calls[0]["id"] == "scripted-1-1"
    assert (second.content, second.id) == ("done", "scripted-2")


def test_prefix_and_profile_and_name_are_the_callers() -> None:
    model = ScriptedChatModel(["ok"], prefix="worker", model_name="small", profile={"max_input_tokens": 20_000})
    answer = model.invoke(HELLO)
    assert (answer.id, answer.response_metadata["model_name"]) == ("worker-1", "small")
    assert model.profile == {"max_input_tokens": 20_000}


def test_a_delay_spreads_a_stream_over_time() -> None:
    async def first_of_two() -> list[str]:
        seen: list[str] = []

        async def read(name: str, delay: float) -> None:
            async for _ in ScriptedChatModel(["a b c"], delay=delay).astream(HELLO):
                seen.append(name)

        await asyncio.gather(read("slow", 0.05), read("fast", 0.0))
        return seen

    assert asyncio.run(first_of_two()) == ["fast"] * 4 + ["slow"] * 4


def test_a_graph_streams_its_tokens_and_keeps_its_calls() -> None:
    model = ScriptedChatModel([say("one two", call("read_file", path="a" * 60))])
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph = builder.add_edge(START, "model").compile()
    parts = list(graph.stream({"messages": [HumanMessage("hello")]}, stream_mode=["messages", "values"], version="v2"))
    tokens = [part["data"][0].text for part in parts if part["type"] == "messages"]
    final = [part["data"]["messages"][-1] for part in parts if part["type"] == "values"][-1]
    assert [token for token in tokens if token] == ["one ", "two"]
    assert isinstance(final, AIMessage)
    assert final.tool_calls[0]["args"] == {"path": "a" * 60}
    assert final.usage_metadata is not None
