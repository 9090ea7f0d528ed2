"""What every saver must do with a real agent's threads: SQLite, Postgres, and LangGraph's in memory."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from agents import Ask, Graph, ask_async, ask_sync, history, plan, results, shape, thread, todo
from longthread.graph import CompactionConfig, ThreadError, create_agent, open_saver
from longthread.graph.scripted import Script, ScriptedChatModel, call, say
from longthread.nodes.worker.state import conversation
from stores import at_once, elsewhere

Saver = BaseCheckpointSaver[Any]
SUMMARY = "\n".join(
    f"## {section}\n- {section.lower()}"
    for section in ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
)

ODD = ["NUL \x00 byte", "lone \ud800 surrogate", "line\r\nends \u2028 and \x1b[31m", "😀 \U0010ffff"]


@pytest.fixture(params=["sqlite", "postgres", "memory"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    with opened(request, tmp_path) as found:
        yield found


def opened(request: pytest.FixtureRequest, folder: Path) -> AbstractContextManager[Saver]:
    if request.param == "memory":
        return nullcontext(InMemorySaver())
    where = request.getfixturevalue("postgres") if request.param == "postgres" else folder / "threads.db"
    return cast(AbstractContextManager[Saver], open_saver(where))


def agent(saver: Saver, script: Script, *tools: BaseTool, **options: Any) -> Graph:
    return create_agent(ScriptedChatModel(script), tools, checkpointer=saver, **options)


def waits(*seconds: float) -> BaseTool:
    """A tool that takes as long as the n-th of `seconds`."""

    @tool
    def wait(n: int) -> str:
        """Wait."""
        time.sleep(seconds[n])
        return f"waited {n}"

    return wait


def says(text: str) -> BaseTool:
    @tool
    def look() -> str:
        """Look."""
        return text

    return look


def test_a_run_is_read_back_as_it_was(saver: Saver, ask: Ask) -> None:
    graph = agent(saver, [plan(todo()), say("I look.", call("look")), "Done."], says("found"))
    told = ask(graph, "write the docs")
    read = agent(saver, []).get_state(thread())
    assert read.values["messages"] == told["messages"]
    assert read.values["todos"] == [todo()]
    assert (read.next, read.tasks) == ((), ())


def test_many_turns_are_read_back_in_order(saver: Saver, ask: Ask) -> None:
    graph = agent(saver, [f"answer {n}" for n in range(12)])
    for n in range(12):
        ask(graph, f"question {n}")
    expected = [text for n in range(12) for text in (f"question {n}", f"answer {n}")]
    assert [message.content for message in history(agent(saver, []))] == expected


def test_parallel_results_keep_the_order_of_their_calls(saver: Saver, ask: Ask) -> None:
    graph = agent(saver, [[call("wait", n=n) for n in range(4)], "Done."], waits(0.2, 0.1, 0.05, 0.0))
    told = ask(graph, "wait")
    assert results(told["messages"]) == [f"waited {n}" for n in range(4)]
    assert results(history(agent(saver, []))) == [f"waited {n}" for n in range(4)]


def test_a_run_that_was_cut_off_goes_on_without_repeating_what_is_finished(saver: Saver, ask: Ask) -> None:
    looked: list[int] = []

    @tool
    def look() -> str:
        """Look."""
        looked.append(1)
        return "found"

    graph = agent(saver, [call("look"), KeyboardInterrupt(), "Done."], look)
    with pytest.raises(KeyboardInterrupt):
        ask(graph, "look", durability="sync")
    assert graph.get_state(thread()).tasks
    assert ask(graph, None)["messages"][-1].content == "Done."
    assert looked == [1]


def test_a_question_to_the_user_is_answered_in_another_process_object(saver: Saver, ask: Ask) -> None:
    @tool
    def approve() -> str:
        """Ask."""
        return f"the user said {interrupt('may I?')}"

    first = agent(saver, [call("approve"), "Done."], approve)
    assert ask(first, "go")["__interrupt__"][0].value == "may I?"
    second = create_agent(ScriptedChatModel(["Done."]), [approve], checkpointer=saver)
    assert results(ask(second, Command(resume="yes"))["messages"]) == ["the user said yes"]


def test_a_fork_leaves_the_branch_it_came_from(saver: Saver, ask: Ask) -> None:
    graph = agent(saver, ["one", "two", "instead"])
    ask(graph, "1")
    older = graph.get_state(thread()).config
    ask(graph, "2")
    left = graph.get_state(thread()).config
    branch = graph.update_state(older, {"messages": [HumanMessage("other")]}, as_node="__start__")
    assert [m.content for m in ask(graph, None, branch)["messages"]] == ["1", "one", "other", "instead"]
    assert [m.content for m in graph.get_state(left).values["messages"]] == ["1", "one", "2", "two"]


def test_the_history_of_states_is_newest_first_and_can_be_cut(saver: Saver, ask: Ask) -> None:
    graph = agent(saver, ["one", "two"])
    ask(graph, "1")
    ask(graph, "2")
    states = [*graph.get_state_history(thread())]
    ids = [state.config["configurable"]["checkpoint_id"] for state in states]
    assert ids == sorted(ids, reverse=True)
    assert [len(state.values["messages"]) for state in states if not state.next] == [4, 2]
    assert [s.config for s in graph.get_state_history(thread(), before=states[1].config, limit=2)] == [
        state.config for state in states[2:4]
    ]


async def test_the_history_of_states_is_the_same_in_async(saver: Saver) -> None:
    graph = agent(saver, ["one"])
    await graph.ainvoke({"messages": "1"}, thread())
    assert [s.config async for s in graph.aget_state_history(thread())] == [
        s.config for s in graph.get_state_history(thread())
    ]


def test_a_deleted_thread_is_gone_and_the_others_stay(saver: Saver) -> None:
    graph = agent(saver, ["one", "two", "again"])
    ask_sync(graph, "1", thread("a"))
    ask_sync(graph, "2", thread("b"))
    saver.delete_thread("a")
    assert graph.get_state(thread("a")).values.get("messages", []) == []
    assert [m.content for m in history(graph, thread("b"))] == ["2", "two"]
    assert [m.content for m in ask_sync(graph, "3", thread("a"))["messages"]] == ["3", "again"]


async def test_a_thread_is_deleted_in_async_too(saver: Saver) -> None:
    graph = agent(saver, ["one"])
    await graph.ainvoke({"messages": "1"}, thread())
    await saver.adelete_thread("t")
    assert await saver.aget_tuple(thread()) is None


@pytest.mark.parametrize(
    "text", ["NUL \x00 byte", "lone \ud800 surrogate", "line\r\nends \u2028 and \x1b[31m", "😀 \U0010ffff"]
)
def test_odd_text_of_user_and_tools_does_not_break_the_thread(saver: Saver, ask: Ask, text: str) -> None:
    graph = agent(saver, [call("look"), plan(todo(content=f"do {text}")), "Done.", "On."], says(text))
    ask(graph, text, thread(of_mine=text))
    told = ask(graph, "go on")["messages"]
    assert told[-1].content == "On."
    assert [m.id for m in history(agent(saver, []))] == [m.id for m in told]


def test_odd_names_of_threads_are_threads_of_their_own(saver: Saver) -> None:
    names = ["", " ", "a/../b", "ä", "' OR 1=1 --", "%", "x" * 500]
    graph = agent(saver, [f"answer to {name}" for name in names[1:]])
    for name in names[1:]:
        ask_sync(graph, name, thread(name))
    assert [history(graph, thread(name))[-1].content for name in names[1:]] == [f"answer to {n}" for n in names[1:]]


def test_a_name_that_no_store_can_hold_is_an_error_that_says_so(saver: Saver) -> None:
    if isinstance(saver, InMemorySaver):
        pytest.skip("it holds any name")
    with pytest.raises(ThreadError, match="name of a thread"):
        ask_sync(agent(saver, ["never"]), "1", thread("lone \ud800"))


def test_five_megabytes_are_read_back_whole(saver: Saver, ask: Ask) -> None:
    graph = agent(saver, ["Long."], compaction=None)
    ask(graph, "long " * 1_000_000)
    assert history(agent(saver, []))[0].content == "long " * 1_000_000


def test_threads_side_by_side_do_not_mix(saver: Saver) -> None:
    def work(name: str) -> None:
        graph = agent(saver, lambda messages: f"{name} to {messages[-1].content}")
        for n in range(3):
            ask_sync(graph, f"{name}{n}", thread(name))

    at_once(work, [(name,) for name in "abc"])
    for name in "abc":
        expected = [text for n in range(3) for text in (f"{name}{n}", f"{name} to {name}{n}")]
        assert [m.content for m in history(agent(saver, []), thread(name))] == expected


async def test_tasks_side_by_side_in_one_loop_do_not_mix(saver: Saver) -> None:
    graph = agent(saver, lambda messages: f"to {messages[-1].content}")
    told = await asyncio.gather(*(graph.ainvoke({"messages": name}, thread(name)) for name in "abcdef"))
    assert [[m.content for m in each["messages"]] for each in told] == [[n, f"to {n}"] for n in "abcdef"]


def test_one_saver_serves_several_loops_and_sync_between_them(saver: Saver) -> None:
    graph = agent(saver, ["one", "two", "three"])
    ask_async(graph, "1")
    ask_sync(graph, "2")
    ask_async(graph, "3")
    assert [m.content for m in history(graph)] == ["1", "one", "2", "two", "3", "three"]


async def test_sync_calls_work_inside_a_running_loop_as_in_a_notebook(saver: Saver) -> None:
    graph = agent(saver, ["one", "two"])
    ask_sync(graph, "1")
    await graph.ainvoke({"messages": "2"}, thread())
    assert [m.content for m in history(graph)] == ["1", "one", "2", "two"]


def test_sync_and_async_leave_the_same_thread(saver: Saver) -> None:
    for name, ask in (("a", ask_sync), ("b", ask_async)):
        ask(agent(saver, [[call("look"), call("look")], "Done."], says("found")), "look", thread(name))
    reader = agent(saver, [])
    assert shape(history(reader, thread("a"))) == shape(history(reader, thread("b")))


def test_the_workers_conversation_stands_in_a_namespace_of_its_own(saver: Saver, ask: Ask) -> None:
    worker = ScriptedChatModel([call("write_summary", text=SUMMARY)], prefix="worker")
    config = CompactionConfig(
        compact_threshold=700,
        retained_tokens=200,
        summary_max_tokens=200,
        pinned_user_tokens=50,
        auto_read_budget=0,
    )
    graph = agent(saver, ["word " * 700, "On."], worker_model=worker, compaction=config)
    ask(graph, "tell me")
    [segment] = graph.get_state(thread()).values["segments"]
    inner = graph.get_state(thread(checkpoint_ns=segment["worker_namespace"]))
    assert [c["name"] for m in conversation(inner.values["log"]) for c in getattr(m, "tool_calls", [])] == [
        "write_summary"
    ]
    assert ask(graph, "go on")["messages"][-1].content == "On."


def test_a_thread_can_be_read_while_a_run_is_under_way(saver: Saver, ask: Ask) -> None:
    seen: list[int] = []

    @tool
    def look() -> str:
        """Look."""
        elsewhere(lambda: seen.append(len(history(agent(saver, [])))))
        return "found"

    assert (
        ask(agent(saver, [call("look"), "Done."], look), "look", durability="sync")["messages"][-1].content == "Done."
    )
    assert seen == [2]
