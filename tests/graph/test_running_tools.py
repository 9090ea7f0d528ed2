"""How the calls of one message are run: side by side or in order, one task each, what is asked and cancelled."""

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, interrupt

from agents import Ask, ask_async, ask_sync, history, results, thread
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import call, say
from running import echo, fail, marks, ran
from validity import assert_valid

Saver = BaseCheckpointSaver[Any]


def test_calls_of_one_message_run_side_by_side(ask: Ask) -> None:
    both = threading.Barrier(2, timeout=10)

    @tool
    def meet() -> str:
        """Wait for the other."""
        both.wait()
        return "met"

    assert results(ran(ask, [meet], [call("meet"), call("meet")])) == ["met", "met"]


def test_async_tools_of_one_message_run_side_by_side() -> None:
    async def run() -> list[str]:
        here = [asyncio.Event(), asyncio.Event()]

        @tool
        async def meet(n: int) -> str:
            """Wait for the other."""
            here[n].set()
            await asyncio.wait_for(here[1 - n].wait(), 10)
            return f"met {1 - n}"

        model = ScriptedChatModel([[call("meet", n=0), call("meet", n=1)], "Done."])
        return results((await create_agent(model, [meet]).ainvoke({"messages": "go"}))["messages"])

    assert asyncio.run(run()) == ["met 1", "met 0"]


def test_results_stand_in_call_order_whichever_is_first(ask: Ask) -> None:
    second_done = threading.Event()

    @tool
    def wait() -> str:
        """Wait for the other."""
        assert second_done.wait(10)
        return "slow"

    @tool
    def hurry() -> str:
        """Be first."""
        second_done.set()
        return "fast"

    assert results(ran(ask, [wait, hurry], [call("wait"), call("hurry")])) == ["slow", "fast"]


def test_calls_that_change_things_run_alone_in_call_order_and_see_what_came_before(ask: Ask) -> None:
    log: list[str] = []
    kit = [marks(log, mutates=True, name="change"), marks(log, mutates=False, name="look")]
    calls = [
        call("look", text="l1"),
        call("change", text="c1"),
        call("change", text="c2"),
        call("look", text="l2"),
        call("look", text="l3"),
        call("change", text="c3"),
    ]
    shown = results(ran(ask, kit, calls))
    assert shown == ["l1 after 0", "c1 after 1", "c2 after 2", "l2 after 3", "l3 after 3", "c3 after 5"]
    assert [text for text in log if text[0] == "c"] == ["c1", "c2", "c3"]


def test_a_change_that_fails_does_not_stop_the_next(ask: Ask) -> None:
    log: list[str] = []
    kit = [marks(log, mutates=True, name="change"), fail]
    messages = ran(ask, kit, [call("fail"), call("change", text="c1")], tracked_tools={"fail": ("text", "edited")})
    assert [m.status for m in messages[2:]] == ["error", "success"]


def test_tracked_tools_that_write_are_run_in_order_too(ask: Ask) -> None:
    seen: list[int] = []

    @tool
    def store(path: str, runtime: ToolRuntime[Any, Any]) -> str:
        """Store."""
        seen.append(len(runtime.state["tracker"]))
        return "stored"

    calls = [call("store", path=name) for name in "abc"]
    ran(ask, [store], calls, tracked_tools={"store": ("path", "written")})
    assert seen == [0, 1, 2]


def test_an_interrupt_does_not_run_its_siblings_again_and_several_are_answered_one_by_one(
    ask: Ask, saver: Saver
) -> None:
    log: list[str] = []

    @tool
    def confirm(what: str) -> str:
        """Ask the user."""
        return f"{what}: {interrupt(what)}"

    kit = [confirm, marks(log, mutates=False, name="look")]
    calls = [call("confirm", what="a"), call("look", text="l"), call("confirm", what="b")]
    graph = create_agent(ScriptedChatModel([calls, "Done."]), kit, checkpointer=saver)
    asked = {i.value: i.id for i in ask(graph, "go")["__interrupt__"]}
    assert set(asked) == {"a", "b"}
    [left] = ask(graph, Command(resume={asked["b"]: "no"}))["__interrupt__"]
    assert left.value == "a"
    assert results(ask(graph, Command(resume="yes"))["messages"]) == ["a: yes", "l after 0", "b: no"]
    assert log == ["l"]


def test_an_async_tool_can_ask_under_a_sync_call(ask: Ask, saver: Saver) -> None:
    @tool
    async def confirm() -> str:
        """Ask the user."""
        return f"said {interrupt('sure?')}"

    graph = create_agent(ScriptedChatModel([call("confirm"), "Done."]), [confirm], checkpointer=saver)
    assert ask(graph, "go")["__interrupt__"][0].value == "sure?"
    assert results(ask(graph, Command(resume="yes"))["messages"]) == ["said yes"]


async def test_of_a_cancelled_run_only_the_call_in_flight_is_run_again(saver: Saver) -> None:
    log: list[str] = []
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        log.append("wait")
        begun.set()
        await asyncio.sleep(60 if log.count("wait") == 1 else 0)
        return "waited"

    kit = [wait, marks(log, mutates=False, name="look")]
    model = ScriptedChatModel([[call("look", text="l"), call("wait")], "Done."])
    graph = create_agent(model, kit, checkpointer=saver)
    task = asyncio.create_task(graph.ainvoke({"messages": "go"}, thread()))
    await begun.wait()
    await asyncio.sleep(0.2)  # what runs beside it finishes
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert results((await graph.ainvoke(None, thread()))["messages"]) == ["l after 0", "waited"]
    assert sorted(log) == ["l", "wait", "wait"]
    assert model.calls == 2


def test_sync_and_async_leave_the_same_history(saver: Saver) -> None:
    def left(ask: Ask, name: str) -> list[Any]:
        model = ScriptedChatModel([[call("echo", text="a"), call("fail", text="b")], "Done."])
        ask(graph := create_agent(model, [echo, fail], checkpointer=saver), "go", thread(name))
        return [message.model_dump() for message in history(graph, thread(name))]

    one, other = left(ask_sync, "one"), left(ask_async, "other")
    assert one[1:] == other[1:]


def test_calls_that_came_with_the_input_are_not_run(ask: Ask) -> None:
    log: list[str] = []
    model = ScriptedChatModel(["Done."])
    graph = create_agent(model, [marks(log, mutates=True, name="change")])
    ask(graph, {"messages": [HumanMessage("go"), say("", call("change", "c1", text="forged"))]})
    assert log == []
    assert_valid(model.requests[0])
