"""What a client sees of a compaction: events with their fields, and nothing of what the worker says."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from agents import ask_sync, history, thread
from compactions import Graph, agent, async_events, events, files, looks, small, summary, values, words, worker, writes
from longthread.graph import ScriptedChatModel
from longthread.graph.scripted import call, say

Saver = BaseCheckpointSaver[Any]
SECRET = "onlytheworkersaysthis"
NO = ValueError("no")
BOTH = small(compact_threshold=700, compact_request_threshold=800, auto_read_budget=90)


def talkative() -> ScriptedChatModel:
    """A worker that speaks before its calls, and calls something else before its summary."""

    def speaks(request: list[BaseMessage]) -> AIMessage:
        return say(SECRET, call("look_around") if len(request) < 3 else writes().tool_calls[0])

    return worker(script=speaks)


def compacting(saver: Saver | None, **options: Any) -> Graph:
    """An agent whose first turn compacts between requests and after the answer."""
    return agent([*looks(8, 100), words(170)], BOTH, talkative(), checkpointer=saver, **options)


# Events


def test_a_compaction_says_that_it_begins_and_what_it_did(saver: Saver, tmp_path: Path) -> None:
    folder = files(tmp_path, a="x = 1\n", b="y = 2\n")
    steps = [call("read_file", path="a.py"), call("write_file", path="c.py", content="z"), *looks(4, 150), "done"]
    by = worker(writes(summary(), call("mark_read_required", path="a.py")))
    config = small(compact_threshold=1_300, auto_read_budget=90)
    begun, done = events(agent(steps, config, by, checkpointer=saver, workspace=folder), "go")
    [segment] = values(agent([], config, checkpointer=saver, workspace=folder))["segments"]
    assert begun == {
        "event": "compact_start",
        "trigger": "compact_threshold",
        "tokens_before": segment["tokens_before"],
        "messages": segment["summarised"],
    }
    assert 0 <= done.pop("seconds") < 60
    assert done == {
        "event": "compact_done",
        "trigger": "compact_threshold",
        "tokens_before": segment["tokens_before"],
        "tokens_after": segment["tokens_after"],
        "files": ["a.py"],
        "references": ["c.py"],
        "summarised": segment["summarised"],
        "kept": segment["kept"],
        "reason": None,
    }


def test_a_failure_says_why_and_how_many_there_were(saver: Saver) -> None:
    graph = agent([*looks(4, 150), "done"], small(compact_threshold=700), worker(NO), checkpointer=saver)
    _, failed = events(graph, "go")
    assert 0 <= failed.pop("seconds") < 60
    assert failed == {
        "event": "compact_failed",
        "trigger": "compact_threshold",
        "tokens_before": values(graph)["occupancy"]["tokens"],
        "reason": "the worker's model failed: no",
        "failures": 1,
        "breaker_open": False,
    }


def test_an_attempt_that_is_not_made_says_why(saver: Saver) -> None:
    graph = agent(["done"], small(compact_threshold=600), checkpointer=saver, system_prompt=words(500))
    [skipped] = events(graph, "go")
    assert set(skipped) == {"event", "trigger", "outcome", "tokens_before", "reason"}
    assert (skipped["event"], skipped["outcome"]) == ("compact_skipped", "irreducible")


@pytest.mark.parametrize("trigger", ["compact_threshold", "compact_request_threshold", "context_refused", "user"])
def test_every_trigger_is_named(saver: Saver, trigger: str) -> None:
    talk = [say(words(150))] * 5
    steps: list[Any] = [*talk, ContextOverflowError("too long"), "done"]
    config = {trigger: 900} if trigger.startswith("compact") else {}
    graph = agent(steps if trigger == "context_refused" else [*talk, "done"], small(**config), checkpointer=saver)
    given: list[Any] = ["go"] * 6 + ([{"compact_request": ""}] if trigger == "user" else [])
    found = [event for one in given for event in events(graph, one)]
    assert {event["trigger"] for event in found} == {trigger}


def test_the_same_events_come_async_and_from_inside_a_parent(saver: Saver) -> None:
    wanted = [event["event"] for event in events(compacting(None), "go")]
    assert wanted.count("compact_done") >= 2
    assert [event["event"] for event in async_events(compacting(None), "go")] == wanted
    builder = StateGraph(MessagesState)
    builder.add_node("agent", compacting(None))
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    outer: Any = builder.compile(checkpointer=saver)
    found = [*outer.stream({"messages": [("user", "go")]}, thread(), stream_mode="custom", subgraphs=True)]
    assert [event["event"] for _, event in found] == wanted
    assert all(namespace[0].startswith("agent:") for namespace, _ in found)


def test_the_newest_words_are_streamed_before_the_proactive_compaction_begins(saver: Saver) -> None:
    graph = agent([*looks(4, 150), "the answer"], small(compact_threshold=700), talkative(), checkpointer=saver)
    given = {"messages": [("user", "go")]}
    seen: list[Any] = [part for _, part in graph.stream(given, thread(), stream_mode=["messages", "custom"])]
    texts = [part[0].text if isinstance(part, tuple) else part["event"] for part in seen]
    assert texts.index("answer") < texts.index("compact_start")


# Streams

MODES: Any = ["values", "updates", "messages", "custom", "tasks", "checkpoints", "debug"]


def streamed(saver: Saver, way: str, modes: Any) -> list[tuple[tuple[str, ...], str, Any]]:
    """(namespace, mode, data) of a run with two compactions."""
    graph, given = compacting(saver), {"messages": [("user", "go")]}
    options: Any = {"stream_mode": modes, "subgraphs": True}

    async def run() -> list[Any]:
        return [part async for part in graph.astream(given, thread(), **options)]

    found = asyncio.run(run()) if way == "async" else [*graph.stream(given, thread(), **options)]
    assert len(values(graph)["segments"]) >= 2
    return found


def messages_in(data: Any) -> Iterator[BaseMessage]:
    """Messages where a client looks for them: the data itself, its values, lists of them, and those of nodes."""
    parts = [data, *data] if isinstance(data, list | tuple) else [data]
    if isinstance(data, dict):
        for value in data.values():
            parts += [value, *(value if isinstance(value, list | tuple) else [])]
            if isinstance(value, dict):
                parts += [item for inner in value.values() for item in (inner if isinstance(inner, list) else [inner])]
    yield from (part for part in parts if isinstance(part, BaseMessage))


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("mode", MODES)
def test_no_stream_shows_a_message_of_the_workers_as_one_of_the_conversation(saver: Saver, way: str, mode: str) -> None:
    for namespace, _, data in streamed(saver, way, [mode]):
        for message in messages_in(data):
            assert SECRET not in message.text, (namespace, message)
            assert message.name != "worker"
            assert not str(message.id).startswith(("w-", "nudge", "finish", "opening"))


@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_stream_of_messages_has_the_models_words_and_the_results_only(saver: Saver, way: str) -> None:
    found = [data for _, _, data in streamed(saver, way, ["messages"])]
    messages = [message for message, _ in found]
    assert {type(message).__name__ for message in messages} == {"AIMessageChunk", "ToolMessage"}
    assert not any(isinstance(message, RemoveMessage | SystemMessage) for message in messages)
    assert {metadata["langgraph_node"] for _, metadata in found} == {"call_model", "execute_tools"}
    assert SECRET not in "".join(message.text for message in messages)
    ids = [message.id for message in messages if not isinstance(message, AIMessageChunk)]
    assert len(set(ids)) == len(ids), "what stays in the tail is not sent again"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_without_subgraphs_the_worker_is_not_seen_at_all(saver: Saver, way: str) -> None:
    graph, given = compacting(saver), {"messages": [("user", "go")]}

    async def run() -> list[Any]:
        return [part async for part in graph.astream(given, thread(), stream_mode=MODES)]

    found = asyncio.run(run()) if way == "async" else [*graph.stream(given, thread(), stream_mode=MODES)]
    assert SECRET not in str(found)
    assert len(found) > 50


def test_events_of_chat_models_show_the_worker_by_its_tag_only(saver: Saver) -> None:
    async def run() -> list[Any]:
        given, config = {"messages": [("user", "go")]}, thread()
        config["recursion_limit"] = 200
        return [event async for event in compacting(saver).astream_events(given, config, version="v2")]

    said: list[Any] = [
        e for e in asyncio.run(run()) if e["event"] == "on_chat_model_stream" and SECRET in str(e["data"])
    ]
    assert said
    assert all("nostream" in event["tags"] for event in said)


def test_every_message_that_the_graph_puts_in_can_be_hidden(saver: Saver) -> None:
    todos = call("todo_write", todos=[{"id": "1", "content": "mend it", "status": "pending"}])
    graph = agent([todos, *looks(8, 100), words(170), "on"], BOTH, talkative(), checkpointer=saver)
    for text in ("go", "go on"):
        ask_sync(graph, text)
    own = [message for message in history(graph) if isinstance(message, SystemMessage)]
    assert len(own) >= 2
    assert all(message.additional_kwargs["source"] for message in own)
    users = [m for m in history(graph) if not m.additional_kwargs.get("source") and not isinstance(m, AIMessage)]
    assert all(m.type in ("human", "tool") for m in users)
