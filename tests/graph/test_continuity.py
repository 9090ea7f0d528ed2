"""A run that no longer continues the newest checkpoint of its thread is refused, and nothing else is."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, StateGraph

import longthread.graph.savers.continuity as continuity
from agents import Graph, history, thread
from longthread.graph import AgentState, StaleRun, ThreadBusy, as_node, create_agent, open_saver
from longthread.graph.savers import ThreadSaver
from longthread.graph.scripted import Script, ScriptedChatModel, call, say
from stores import at_once, elsewhere, in_another_process

Durability = Literal["sync", "async", "exit"]
ANOTHER_RUN = """
import sys
from longthread.graph import ScriptedChatModel, create_agent, open_saver
with open_saver(sys.argv[1]) as saver:
    agent = create_agent(ScriptedChatModel(["from the other process"], prefix="other"), checkpointer=saver)
    agent.invoke({"messages": "second"}, {"configurable": {"thread_id": "t"}}, durability="sync")
"""


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.getfixturevalue("postgres") if request.param == "postgres" else tmp_path / "threads.db")


@pytest.fixture
def saver(where: str) -> Iterator[ThreadSaver]:
    with open_saver(where) as opened:
        yield opened


def agent(saver: ThreadSaver, script: Script, *tools: BaseTool, prefix: str = "a") -> Graph:
    return create_agent(ScriptedChatModel(script, prefix=prefix), tools, checkpointer=saver)


def meddling(meddle: Callable[[], object]) -> BaseTool:
    """A tool during which something else happens to the thread."""

    @tool("meddle")
    def run() -> str:
        """Look away."""
        elsewhere(meddle)
        return "done"

    return run


def texts(graph: Graph) -> list[str]:
    return [str(message.content) for message in history(graph)]


def ask(graph: Graph, text: str | None, config: RunnableConfig | None = None, durability: Durability = "sync") -> Any:
    given = None if text is None else {"messages": text}
    return graph.invoke(given, config or thread(), durability=durability)


def test_of_two_runs_at_once_the_one_that_stores_first_is_complete_and_the_other_gets_an_error(
    saver: ThreadSaver,
) -> None:
    second = agent(saver, ["second answer"], prefix="b")
    first = agent(saver, [say("", call("meddle")), "never"], meddling(lambda: ask(second, "second")))
    with pytest.raises(StaleRun, match="run on thread 't' was stopped"):
        ask(first, "first")
    assert texts(first) == ["first", "", "second", "second answer"]
    assert issubclass(StaleRun, ThreadBusy)


async def test_it_is_the_same_in_async(saver: ThreadSaver) -> None:
    second = agent(saver, ["second answer"], prefix="b")
    first = agent(saver, [say("", call("meddle")), "never"], meddling(lambda: ask(second, "second")))
    with pytest.raises(StaleRun):
        await first.ainvoke({"messages": "first"}, thread(), durability="sync")
    assert texts(first) == ["first", "", "second", "second answer"]


def test_it_is_the_same_between_processes(where: str, saver: ThreadSaver) -> None:
    first = agent(saver, [say("", call("meddle")), "never"], meddling(lambda: in_another_process(ANOTHER_RUN, where)))
    with pytest.raises(StaleRun):
        ask(first, "first")
    assert texts(first) == ["first", "", "second", "from the other process"]


@pytest.mark.parametrize("durability", ["async", "exit"])
def test_without_sync_one_of_two_is_complete_too(saver: ThreadSaver, durability: Durability) -> None:
    second = agent(saver, ["second answer"], prefix="b")
    lost: list[str] = []

    def meddle() -> None:
        try:
            ask(second, "second", durability=durability)
        except StaleRun:
            lost.append("second")

    first = agent(saver, [say("", call("meddle")), "first answer"], meddling(meddle))
    try:
        ask(first, "first", durability=durability)
    except StaleRun:
        lost.append("first")
    assert len(lost) == 1
    assert texts(first)[-1] == ("second answer" if lost == ["first"] else "first answer")


def test_of_two_resumes_of_one_run_only_one_is_stored(saver: ThreadSaver) -> None:
    def meddle(_: list[BaseMessage]) -> str:
        elsewhere(lambda: ask(agent(saver, ["of the second"], prefix="b"), None))
        return "of the first"

    first = agent(saver, [KeyboardInterrupt(), meddle])
    with pytest.raises(KeyboardInterrupt):
        ask(first, "go on")
    with pytest.raises(StaleRun):
        ask(first, None)
    assert texts(first) == ["go on", "of the second"]


def test_an_update_of_the_state_stays_and_stops_the_run_under_it(saver: ThreadSaver) -> None:
    def update() -> None:
        first.update_state(thread(), {"messages": [HumanMessage("from outside", id="u")]}, as_node="call_model")

    first = agent(saver, [say("", call("meddle")), "never", "after"], meddling(update))
    with pytest.raises(StaleRun):
        ask(first, "first")
    assert texts(first)[-1] == "from outside"
    assert ask(first, "again")["messages"][-1].content == "never"


def test_a_run_does_not_bring_back_a_thread_that_was_deleted_under_it(saver: ThreadSaver) -> None:
    first = agent(saver, [say("", call("meddle")), "never"], meddling(lambda: saver.delete_thread("t")))
    with pytest.raises(StaleRun):
        ask(first, "first")
    assert saver.get_tuple(thread()) is None


def test_runs_of_other_threads_are_no_hindrance(saver: ThreadSaver) -> None:
    second = agent(saver, ["second answer"], prefix="b")
    first = agent(saver, [call("meddle"), "answer"], meddling(lambda: ask(second, "second", thread("other"))))
    assert ask(first, "first")["messages"][-1].content == "answer"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_fork_from_an_older_checkpoint_works(saver: ThreadSaver, durability: Durability) -> None:
    graph = agent(saver, ["one", "two", "three", "four"])
    ask(graph, "1")
    older = graph.get_state(thread()).config
    ask(graph, "2")
    assert [m.content for m in ask(graph, "3", older, durability)["messages"]] == ["1", "one", "3", "three"]
    ask(graph, "4", durability=durability)
    assert texts(graph) == ["1", "one", "3", "three", "4", "four"]


def test_an_older_checkpoint_can_be_replayed(saver: ThreadSaver) -> None:
    graph = agent(saver, ["one", "two", "two again"])
    ask(graph, "1")
    ask(graph, "2")
    before = next(s for s in graph.get_state_history(thread()) if s.next == ("call_model",))
    assert [m.content for m in ask(graph, None, before.config)["messages"]] == ["1", "one", "2", "two again"]


def test_an_update_of_an_older_checkpoint_begins_a_branch(saver: ThreadSaver) -> None:
    graph = agent(saver, ["one", "two", "branch"])
    ask(graph, "1")
    older = graph.get_state(thread()).config
    ask(graph, "2")
    branch = graph.update_state(older, {"messages": [HumanMessage("instead")]}, as_node="__start__")
    assert [m.content for m in ask(graph, None, branch)["messages"]] == ["1", "one", "instead", "branch"]


def test_a_run_that_was_cut_off_goes_on(saver: ThreadSaver) -> None:
    graph = agent(saver, [call("meddle"), KeyboardInterrupt(), "answer"], meddling(lambda: None))
    with pytest.raises(KeyboardInterrupt):
        ask(graph, "first")
    assert ask(graph, None)["messages"][-1].content == "answer"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_tasks_side_by_side_in_one_step_belong_to_one_run(saver: ThreadSaver, durability: Durability) -> None:
    calls = [call("meddle") for _ in range(8)]
    graph = agent(saver, [calls, "answer", calls, "second"], meddling(lambda: None))
    ask(graph, "first", durability=durability)
    ask(graph, "again", durability=durability)
    assert texts(graph) == ["first", "", *["done"] * 8, "answer", "again", "", *["done"] * 8, "second"]


def test_a_subgraph_with_memory_of_its_own_goes_along_with_forks_and_replays_of_its_parent(saver: ThreadSaver) -> None:
    inner = create_agent(ScriptedChatModel(["one", "two", "fork", "two again"]), checkpointer=True)
    parent = StateGraph(AgentState).add_node("agent", as_node(inner, mode="last")).add_edge(START, "agent")
    graph = parent.compile(checkpointer=saver)
    ask(graph, "1")
    older = graph.get_state(thread()).config
    ask(graph, "2")
    replayed = next(s for s in graph.get_state_history(thread()) if s.next == ("agent",)).config
    assert [m.content for m in ask(graph, "3", older)["messages"]] == ["1", "one", "3", "fork"]
    assert [m.content for m in ask(graph, None, replayed)["messages"]] == ["1", "one", "2", "two again"]


def test_writes_of_another_run_on_the_same_checkpoint_are_not_mixed_into_a_run(saver: ThreadSaver) -> None:
    def meddle() -> None:
        found = saver.get_tuple(thread())
        assert found
        saver.put_writes(found.config, [("messages", [HumanMessage("of another run")])], "another task")

    first = agent(saver, [call("meddle"), "never"], meddling(meddle))
    with pytest.raises(StaleRun):
        ask(first, "first")


def test_a_clock_that_is_behind_is_an_error_and_not_a_loss(saver: ThreadSaver) -> None:
    graph = agent(saver, ["one", "two"])
    ask(graph, "1")
    newest = saver.get_tuple(thread())
    assert newest
    parent: RunnableConfig = {"configurable": {**newest.config["configurable"]}}
    saver.put(parent, {**newest.checkpoint, "id": "2f000000-0000-6000-8000-000000000000"}, newest.metadata, {})
    with pytest.raises(StaleRun, match="the clock here is behind"):
        ask(graph, "2")


def test_a_chain_that_the_saver_has_forgotten_is_judged_by_its_parent(
    saver: ThreadSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuity, "REMEMBERED", 1)
    second = agent(saver, ["second answer"], prefix="b")
    first = agent(saver, [call("meddle"), "answer"], meddling(lambda: ask(second, "second", thread("other"))))
    assert ask(first, "first")["messages"][-1].content == "answer"
    stale = agent(saver, [call("meddle"), "never"], meddling(lambda: ask(second, "second")), prefix="c")
    with pytest.raises(StaleRun):
        ask(stale, "third")


@pytest.mark.slow
def test_of_many_runs_at_once_every_one_that_succeeds_is_stored_whole(saver: ThreadSaver) -> None:
    told: list[str] = []

    def work(name: str) -> None:
        graph = agent(saver, lambda messages: f"answer to {messages[-1].content}", prefix=name)
        for n in range(4):
            try:
                ask(graph, f"{name}{n}")
            except StaleRun:
                continue
            told.append(f"{name}{n}")

    at_once(work, [(name,) for name in "abcd"])
    stored = texts(agent(saver, []))
    assert told
    assert [stored[stored.index(text) + 1] for text in told] == [f"answer to {text}" for text in told]
