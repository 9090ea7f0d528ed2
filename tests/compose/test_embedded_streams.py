"""What a client of the parent sees while an embedded agent works."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Graph, thread
from parents import Wrap, parent, summarising

Saver = BaseCheckpointSaver[Any]
Parts = list[dict[str, Any]]
Streamed = Callable[[Graph, str], Parts]
OPTIONS: dict[str, Any] = {"stream_mode": ["messages", "custom", "updates"], "subgraphs": True, "version": "v2"}


def streamed_sync(graph: Graph, said: str) -> Parts:
    return list(graph.stream({"messages": [("user", said)]}, thread(), **OPTIONS))


def streamed_async(graph: Graph, said: str) -> Parts:
    async def collect(config: RunnableConfig) -> Parts:
        return [part async for part in graph.astream({"messages": [("user", said)]}, config, **OPTIONS)]

    return asyncio.run(collect(thread()))


@pytest.fixture(params=[streamed_sync, streamed_async], ids=["sync", "async"])
def streamed(request: pytest.FixtureRequest) -> Streamed:
    found: Streamed = request.param
    return found


def of(parts: Parts, kind: str) -> Parts:
    return [part for part in parts if part["type"] == kind]


def test_tokens_and_events_arrive_with_the_namespace_of_the_agent(streamed: Streamed, saver: Saver, wrap: Wrap) -> None:
    agent, _ = summarising(["word " * 700, "On we go."])
    graph = parent(wrap(agent), saver)
    first, second = streamed(graph, "tell me"), streamed(graph, "go on")
    assert [part["data"]["event"] for part in of(first, "custom")] == ["compact_start", "compact_done"]
    assert [part["ns"][0].split(":")[0] for part in of(first, "custom")] == ["agent", "agent"]
    tokens = [
        p["data"][0].content for p in of(second, "messages") if p["data"][1].get("langgraph_node") == "call_model"
    ]
    assert "".join(tokens) == "On we go."
    assert {part["ns"][0].split(":")[0] for part in of(second, "messages")} <= {"agent"}


def test_the_stream_of_messages_has_nothing_of_the_worker(streamed: Streamed, saver: Saver, wrap: Wrap) -> None:
    agent, worker = summarising(["word " * 700])
    parts = streamed(parent(wrap(agent), saver), "tell me")
    assert worker.calls == 1
    said = [part["data"] for part in of(parts, "messages")]
    assert not any(metadata.get("langgraph_node") in ("call_worker", "run_worker_tools") for _, metadata in said)
    assert not any(message.id.startswith("worker") for message, _ in said)


def test_the_events_can_be_had_without_subgraphs_by_a_client_of_the_agent_alone(saver: Saver) -> None:
    agent, _ = summarising(["word " * 700], checkpointer=saver)
    events = list(agent.stream({"messages": [("user", "tell me")]}, thread(), stream_mode="custom"))
    assert [event["event"] for event in events] == ["compact_start", "compact_done"]
