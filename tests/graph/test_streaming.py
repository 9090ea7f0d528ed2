import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import ToolRuntime

from agents import Graph, thread
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import Step, call, say

Saver = BaseCheckpointSaver[Any]
Parts = list[dict[str, Any]]


@tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


def agent(saver: Saver | None = None) -> Graph:
    steps: list[Step] = [say("I look first.", call("echo", "c1", text="a text of some length")), "All is well."]
    return create_agent(ScriptedChatModel(steps), [echo], checkpointer=saver)


def streamed(graph: Graph, **options: Any) -> Parts:
    return [dict(part) for part in graph.stream({"messages": "go"}, thread(), version="v2", **options)]


async def astreamed(graph: Graph, **options: Any) -> Parts:
    return [dict(part) async for part in graph.astream({"messages": "go"}, thread(), version="v2", **options)]


@pytest.fixture(params=["sync", "async"])
def parts(request: pytest.FixtureRequest) -> Parts:
    """A run's message stream."""
    both = streamed if request.param == "sync" else lambda *a, **k: asyncio.run(astreamed(*a, **k))
    return both(agent(), stream_mode="messages")


def test_text_comes_word_by_word(parts: Parts) -> None:
    words = [p["data"][0].content for p in parts if isinstance(p["data"][0], AIMessageChunk) and p["data"][0].content]
    assert words == ["I ", "look ", "first.", "All ", "is ", "well."]


def test_a_call_comes_in_pieces(parts: Parts) -> None:
    chunks = [p["data"][0] for p in parts if isinstance(p["data"][0], AIMessageChunk)]
    pieces = [piece["args"] for chunk in chunks for piece in chunk.tool_call_chunks]
    assert len(pieces) == 3
    assert "".join(map(str, pieces)) == '{"text": "a text of some length"}'


def test_usage_comes_once_with_each_answer(parts: Parts) -> None:
    counted = [p["data"][0].usage_metadata for p in parts if getattr(p["data"][0], "usage_metadata", None)]
    assert len(counted) == 2
    assert counted[1]["input_tokens"] > counted[0]["input_tokens"] > 0


def test_no_answer_comes_a_second_time_as_a_whole(parts: Parts) -> None:
    kinds = [type(part["data"][0]).__name__ for part in parts]
    assert set(kinds) == {"AIMessageChunk", "ToolMessage"}
    assert kinds.count("ToolMessage") == 1


def test_each_part_names_its_node(parts: Parts) -> None:
    nodes = {type(message): meta["langgraph_node"] for message, meta in (part["data"] for part in parts)}
    assert nodes == {AIMessageChunk: "call_model", ToolMessage: "execute_tools"}


def test_what_was_streamed_is_what_is_stored(saver: Saver) -> None:
    graph = agent(saver)
    chunks = [p["data"][0] for p in streamed(graph, stream_mode="messages")]
    said = "".join(c.text for c in chunks if isinstance(c, AIMessageChunk))
    stored = graph.get_state(thread()).values["messages"]
    assert said == stored[1].text + stored[3].text
    assert stored[1].tool_calls == [call("echo", "c1", text="a text of some length")]


def test_updates_name_the_nodes_in_their_order() -> None:
    nodes = [name for part in streamed(agent(), stream_mode="updates") for name in part["data"]]
    check = ["inject_reminder", "pre_request_check", "call_model"]
    assert nodes == [*check, "execute_tools", *check]


def test_values_begin_with_the_input_and_end_with_the_answer() -> None:
    seen = [len(part["data"]["messages"]) for part in streamed(agent(), stream_mode="values")]
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (1, 4)


async def test_events_of_langchain_carry_the_tokens() -> None:
    events = [e async for e in agent().astream_events({"messages": "go"}, thread(), version="v2")]
    words = [e["data"]["chunk"].content for e in events if e["event"] == "on_chat_model_stream"]
    assert "".join(words) == "I look first.All is well."
    assert [e["name"] for e in events if e["event"] == "on_tool_end"] == ["echo"]


def test_a_tool_may_write_to_the_stream() -> None:
    @tool
    def report(runtime: ToolRuntime[Any, Any]) -> str:
        """Report."""
        runtime.stream_writer({"progress": 50})
        return "ok"

    graph = create_agent(ScriptedChatModel([call("report"), "Done."]), [report])
    assert [part["data"] for part in streamed(graph, stream_mode="custom")] == [{"progress": 50}]


def test_an_answer_under_an_id_that_was_used_before_is_streamed_and_kept() -> None:
    steps = [say("One.", call("echo", text="x")), say("Two.")]
    for step in steps:
        step.id = "msg"
    graph = create_agent(ScriptedChatModel(steps), [echo])
    said = [
        p["data"][0].text for p in streamed(graph, stream_mode="messages") if isinstance(p["data"][0], AIMessageChunk)
    ]
    assert "".join(said) == "One.Two."
