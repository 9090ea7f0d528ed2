"""Runs over real HTTP and server-sent events, cut off at every tenth event and resumed: the same end."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import served
from agents import AT_ONCE, Ask, history, results, thread
from longthread.graph import create_agent, resolve_model
from openai_server import OpenAIServer, Refusal, Reply

CUTS = range(10, 90, 10)


@pytest.fixture
def server(openai_server: OpenAIServer) -> OpenAIServer:
    openai_server.answer_by(served.answer)
    return openai_server


@pytest.fixture
def undisturbed(server: OpenAIServer, tmp_path: Path) -> dict[str, Any]:
    """The end of a run that nothing interrupts; it has more events than the last cut."""
    graph = served.agent(tmp_path / "undisturbed", server.base_url)
    assert len(list(served.events(graph, {"messages": "mend add"}))) > max(CUTS)
    server.requests.clear()
    return served.outcome(graph, tmp_path / "undisturbed")


def resumed(server: OpenAIServer, folder: Path) -> dict[str, Any]:
    """The end after a resume by a new graph over a new saver."""
    graph = served.agent(folder, server.base_url)
    graph.invoke(None, thread())
    assert server.faults == []
    assert len(server.requests) <= len(served.STEPS) + 1, "only the request in flight is made again"
    return served.outcome(graph, folder)


@pytest.mark.parametrize("cut", CUTS)
def test_a_stream_that_its_reader_leaves_is_resumed_to_the_same_end(
    server: OpenAIServer, undisturbed: dict[str, Any], tmp_path: Path, cut: int
) -> None:
    stream: Any = served.events(served.agent(tmp_path, server.base_url), {"messages": "mend add"})
    for _ in range(cut):
        next(stream)
    stream.close()
    assert resumed(server, tmp_path) == undisturbed


@pytest.mark.parametrize("cut", CUTS)
async def test_an_async_stream_that_its_reader_leaves_is_resumed_to_the_same_end(
    server: OpenAIServer, undisturbed: dict[str, Any], tmp_path: Path, cut: int
) -> None:
    stream: Any = served.aevents(served.agent(tmp_path, server.base_url), {"messages": "mend add"})
    for _ in range(cut):
        await anext(stream)
    await stream.aclose()
    assert resumed(server, tmp_path) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS[::2])
def test_a_process_that_dies_at_an_event_is_resumed_to_the_same_end(
    server: OpenAIServer, undisturbed: dict[str, Any], tmp_path: Path, cut: int
) -> None:
    paths = os.pathsep.join([str(Path(served.__file__).parent), *sys.path])
    command = [sys.executable, served.__file__, str(tmp_path), server.base_url, str(cut)]
    assert subprocess.run(command, env={"PYTHONPATH": paths, "PATH": os.environ["PATH"]}).returncode == 9
    assert resumed(server, tmp_path) == undisturbed


TROUBLE = {
    "a rate limit": Refusal.rate_limited(),
    "a server error": Refusal(500, "oh"),
    "a cut stream": Reply("half an answer that never ends", cut_after=3),
    "a stream that ends early": Reply("half an answer that never ends", ended_after=3),
    "a call that ends early": Reply(calls=(("write_file", {"path": "a.txt", "content": "x" * 50}),), ended_after=5),
    "a stream of nothing": Reply("half an answer", ended_after=0),
    "a half event": Reply("half an answer that never ends", half_event_after=3),
    "an error inside the stream": Reply("half an answer", error_after=(2, Refusal(503, "overloaded"))),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
def test_passing_trouble_of_the_server_is_tried_again(
    openai_server: OpenAIServer, saver: Any, trouble: Refusal | Reply
) -> None:
    openai_server.answer(trouble, "Done.")
    model = resolve_model("openai:test", base_url=openai_server.base_url)
    graph = create_agent(model, retry=AT_ONCE, checkpointer=saver)
    list(graph.stream({"messages": "go"}, thread(), stream_mode="messages"))
    assert [m.content for m in history(graph)] == ["go", "Done."]
    assert len(openai_server.requests) == 2


def test_a_refusal_ends_the_run_and_the_resume_goes_on(ask: Ask, openai_server: OpenAIServer, saver: Any) -> None:
    openai_server.answer(Reply(calls=(("todo_write", {"todos": []}),)), Refusal(400, "unknown field"), "Done.")
    graph = create_agent(resolve_model("openai:test", base_url=openai_server.base_url), checkpointer=saver)
    with pytest.raises(Exception, match="unknown field"):
        ask(graph, "go")
    assert ask(graph, None)["messages"][-1].content == "Done."
    assert results(history(graph)) == ["Todo list updated, 0 of 0 completed.\n"]


def test_no_message_carries_a_name_on_the_wire(ask: Ask, openai_server: OpenAIServer) -> None:
    openai_server.answer(Reply("I see.", calls=(("todo_write", {"todos": []}),)), "Done.")
    model = resolve_model("openai:test", base_url=openai_server.base_url)
    ask(create_agent(model, name="my agent"), "go")
    assert not [message for message in last(openai_server) if "name" in message]


def last(server: OpenAIServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.requests[-1]["messages"]
    return found


def test_a_server_that_takes_a_system_message_only_first_takes_every_request(
    ask: Ask, openai_server: OpenAIServer, saver: Any
) -> None:
    openai_server.system_first = True
    openai_server.answer(Reply(calls=(("todo_write", {"todos": served.PLAN}),)), "One.", "Two.")
    model = resolve_model("openai:test", base_url=openai_server.base_url)
    graph = create_agent(model, system_prompt="Be brief.", system_role="user", checkpointer=saver)
    ask(graph, "go")
    ask(graph, "go on")
    assert openai_server.faults == []
    assert "mend add" in str(last(openai_server)[-1]["content"])


def test_usage_is_asked_for_while_streaming_and_stored(openai_server: OpenAIServer, saver: Any) -> None:
    openai_server.answer("Done.")
    graph = create_agent(resolve_model("openai:test", base_url=openai_server.base_url), checkpointer=saver)
    list(graph.stream({"messages": "go"}, thread(), stream_mode="messages"))
    usage: Any = history(graph)[-1]
    assert usage.usage_metadata["input_tokens"] > 0


@pytest.mark.parametrize("name", ["functions.read_file", "no such tool!", "x" * 200])
def test_a_tool_name_that_no_server_takes_does_not_end_the_thread(
    openai_server: OpenAIServer, saver: Any, name: str
) -> None:
    openai_server.answer(Reply(calls=((name, {}),)), "I see.", "Still here.")
    graph = create_agent(resolve_model("openai:test", base_url=openai_server.base_url), checkpointer=saver)
    list(graph.stream({"messages": "go"}, thread(), stream_mode="messages"))
    assert graph.invoke({"messages": "and?"}, thread())["messages"][-1].content == "Still here."
    assert openai_server.faults == []
