"""How the calls of one message are run: side by side, one task each, every outcome a result."""

import asyncio
import threading
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from agents import Ask, ask_async, ask_sync, history, results, thread
from longthread.graph import AgentState, ScriptedChatModel, create_agent
from longthread.graph.scripted import Step, call, say
from validity import assert_valid

Saver = BaseCheckpointSaver[Any]


def ran(ask: Ask, tools: list[Any], *steps: Step, **options: Any) -> list[Any]:
    """The messages of one run, its last answer left out."""
    model = ScriptedChatModel([*steps, "Done."])
    messages: list[Any] = ask(create_agent(model, tools, **options), "go")["messages"]
    assert messages[-1].content == "Done."
    for request in model.requests:
        assert_valid(request)
    return messages[:-1]


@tool
def fail(text: str = "") -> str:
    """Fail."""
    raise ValueError(text)


@tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


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


def marks(log: list[str], *, mutates: bool, name: str) -> BaseTool:
    def mark(text: str, runtime: ToolRuntime[Any, Any]) -> str:
        log.append(text)
        return f"{text} after {len(runtime.state['messages']) - 2}"

    return StructuredTool.from_function(
        mark, name=name, description="Mark.", metadata={"mutates": True} if mutates else None
    )


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


def test_an_exception_is_an_error_result_with_its_text(ask: Ask) -> None:
    [found] = ran(ask, [fail], call("fail", text="no such table"))[2:]
    assert (found.status, found.content, found.name) == ("error", "Error: no such table", "fail")
    assert "no such table" in found.additional_kwargs["summary"]


def test_an_exception_without_text_is_named(ask: Ask) -> None:
    assert results(ran(ask, [fail], call("fail"))) == ["Error: ValueError"]


def test_a_tool_exception_of_langchain_is_an_error_result_too(ask: Ask) -> None:
    @tool
    def refuse() -> str:
        """Refuse."""
        raise ToolException("not today")

    [found] = ran(ask, [refuse], call("refuse"))[2:]
    assert (found.status, found.content) == ("error", "Error: not today")


def test_a_tool_that_is_cancelled_from_within_is_an_error_result(ask: Ask) -> None:
    @tool
    def stop() -> str:
        """Stop."""
        raise asyncio.CancelledError

    [found] = ran(ask, [stop], call("stop"))[2:]
    assert found.status == "error"
    assert "cancelled before it finished" in found.content


@pytest.mark.parametrize(
    ("args", "says"),
    [({}, "text"), ({"text": {"a": 1}}, "valid string"), ({"txt": "x"}, "text")],
    ids=["missing", "wrong type", "misspelt"],
)
def test_a_bad_argument_is_an_error_result_that_names_it(ask: Ask, args: dict[str, Any], says: str) -> None:
    [found] = ran(ask, [echo], say("", {"name": "echo", "args": args, "id": None, "type": "tool_call"}))[2:]
    assert found.status == "error"
    assert says in found.content
    assert found.content.startswith("Error")


def test_an_unknown_tool_is_an_error_result_that_names_those_there_are(ask: Ask) -> None:
    [found] = ran(ask, [echo], call("ecko", text="x"))[2:]
    assert found.status == "error"
    assert "todo_write, echo" in found.content


def test_arguments_that_are_no_json_are_an_error_result_and_nothing_is_run(ask: Ask) -> None:
    broken = {"name": "echo", "args": '{"text": "cut o', "id": "c9", "error": None, "type": "invalid_tool_call"}
    answer = AIMessage("", invalid_tool_calls=[broken], tool_calls=[call("echo", "c8", text="whole")])
    asked, *found = ran(ask, [echo], answer)[1:]
    assert [c["id"] for c in asked.tool_calls] == ["c8", "c9"]
    assert asked.invalid_tool_calls == []
    assert [(m.tool_call_id, m.status) for m in found] == [("c8", "success"), ("c9", "error")]
    assert '\'{"text": "cut o\'' in found[1].content


def test_doubled_and_missing_call_ids_are_told_apart(ask: Ask) -> None:
    answer = AIMessage(
        "", tool_calls=[{**call("echo", text=t), "id": i} for t, i in [("a", "x"), ("b", "x"), ("c", "")]]
    )
    assert results(ran(ask, [echo], answer)) == ["a", "b", "c"]


def test_call_ids_that_begin_anew_in_each_answer_are_told_apart(ask: Ask) -> None:
    steps = [say("", call("echo", "call_0", text=text)) for text in "abc"]
    messages = ran(ask, [echo], *steps)
    assert results(messages) == ["a", "b", "c"]
    assert len({m.tool_call_id for m in messages if isinstance(m, ToolMessage)}) == 3


def test_a_server_that_gives_every_answer_the_same_id_loses_none(ask: Ask) -> None:
    steps = [AIMessage("", id="msg", tool_calls=[{**call("echo", text=t), "id": "c"}]) for t in "ab"]
    messages = ran(ask, [echo], *steps)
    assert [m.type for m in messages] == ["human", "ai", "tool", "ai", "tool"]
    assert results(messages) == ["a", "b"]


def test_a_tool_that_asks_for_the_state_gets_it(ask: Ask) -> None:
    @tool
    def look(
        state: Annotated[dict[str, Any], InjectedState],
        messages: Annotated[list[Any], InjectedState("messages")],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime[Any, Any],
        config: RunnableConfig,
    ) -> str:
        """Look at the state."""
        assert runtime.state == state
        return (
            f"{state['todos']} {len(messages)} {call_id} {runtime.tool_call_id} {config['configurable']['thread_id']}"
        )

    assert results(ran(ask, [look], call("look", "c1"))) == ["[] 2 c1 c1 t"]


def test_a_tool_that_exists_in_async_only_runs_under_both(ask: Ask) -> None:
    @tool
    async def fetch(text: str, config: RunnableConfig, runtime: ToolRuntime[Any, Any]) -> str:
        """Fetch."""
        await asyncio.sleep(0)
        return f"{text} {config['configurable']['thread_id']} {runtime.tool_call_id}"

    assert results(ran(ask, [fetch], [call("fetch", "c1", text="a"), call("fetch", "c2", text="b")])) == [
        "a t c1",
        "b t c2",
    ]


async def test_a_tool_that_exists_in_async_only_runs_under_a_sync_call_in_a_running_loop() -> None:
    @tool
    async def fetch() -> str:
        """Fetch."""
        await asyncio.sleep(0)
        return "fetched"

    assert results(ran(ask_sync, [fetch], call("fetch"))) == ["fetched"]


def test_a_tool_that_answers_directly_ends_the_turn(ask: Ask, saver: Saver) -> None:
    @tool(return_direct=True)
    def answer() -> str:
        """Answer."""
        return "42"

    graph = create_agent(ScriptedChatModel([[call("answer"), call("answer")], "Next."]), [answer], checkpointer=saver)
    assert [m.type for m in ask(graph, "go")["messages"]] == ["human", "ai", "tool", "tool"]
    assert ask(graph, "go on")["messages"][-1].content == "Next."


def test_beside_other_calls_a_direct_answer_goes_back_to_the_model(ask: Ask) -> None:
    @tool(return_direct=True)
    def answer() -> str:
        """Answer."""
        return "42"

    assert results(ran(ask, [answer, echo], [call("answer"), call("echo", text="x")])) == ["42", "x"]


class WithNotes(AgentState):
    notes: list[str]


def test_a_tool_may_write_keys_of_the_users_own(ask: Ask) -> None:
    @tool
    def note(text: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        """Note."""
        told = ToolMessage("noted", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [told], "notes": [*runtime.state["notes"], text]})

    model = ScriptedChatModel([call("note", text="a"), call("note", text="b"), "Done."])
    graph = create_agent(model, [note], state_schema=WithNotes)
    found = ask(graph, {"messages": [("user", "go")], "notes": ["0"]})
    assert found["notes"] == ["0", "a", "b"]
    assert found["messages"][-2].name == "note"


def test_a_command_without_a_result_is_an_error_and_not_a_loop(ask: Ask) -> None:
    @tool
    def forget() -> Command[Any]:
        """Forget the result."""
        return Command(update={"todos": []})

    [found] = ran(ask, [forget], call("forget"))[2:]
    assert found.status == "error"
    assert "matching ToolMessage" in found.content


def test_an_empty_command_has_an_empty_result(ask: Ask) -> None:
    @tool
    def nothing() -> Command[Any]:
        """Do nothing."""
        return Command()

    assert results(ran(ask, [nothing], call("nothing"))) == ["(no output)"]


def test_a_result_under_a_foreign_call_id_still_answers_its_call(ask: Ask) -> None:
    @tool
    def stray() -> ToolMessage:
        """Answer another's call."""
        return ToolMessage("here", tool_call_id="other")

    [found] = ran(ask, [stray], call("stray", "c1"))[2:]
    assert (found.content, found.tool_call_id, found.name) == ("here", "c1", "stray")


@pytest.mark.parametrize("extra", [HumanMessage("[an image]"), AIMessage("a helper's words")], ids=["human", "ai"])
def test_messages_that_a_tool_adds_are_not_the_users_and_lose_no_call(ask: Ask, extra: Any) -> None:
    @tool
    def picture(runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        """Show a picture."""
        return Command(update={"messages": [ToolMessage("shown", tool_call_id=runtime.tool_call_id), extra]})

    log: list[str] = []
    kit = [picture, marks(log, mutates=True, name="change")]
    messages = ran(ask, kit, [call("picture"), call("change", text="c1"), call("change", text="c2")], max_requests=2)
    assert log == ["c1", "c2"]
    assert messages[3].additional_kwargs["source"] == "tool"


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


async def test_a_cancelled_run_is_cancelled_and_its_call_is_run_on_resume(saver: Saver) -> None:
    begun, runs = asyncio.Event(), []

    @tool
    async def wait() -> str:
        """Wait."""
        runs.append(1)
        begun.set()
        await asyncio.sleep(60 if len(runs) == 1 else 0)
        return "waited"

    graph = create_agent(ScriptedChatModel([call("wait"), "Done."]), [wait], checkpointer=saver)
    task = asyncio.create_task(graph.ainvoke({"messages": "go"}, thread()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert results((await graph.ainvoke(None, thread()))["messages"]) == ["waited"]


def test_a_tool_may_take_a_model_as_its_argument(ask: Ask) -> None:
    class Point(BaseModel):
        x: int

    @tool
    def plot(point: Point) -> str:
        """Plot."""
        return f"at {point.x}"

    assert results(ran(ask, [plot], call("plot", point={"x": 3}))) == ["at 3"]


def test_sync_and_async_leave_the_same_history(saver: Saver) -> None:
    def left(ask: Ask, name: str) -> list[Any]:
        model = ScriptedChatModel([[call("echo", text="a"), call("fail", text="b")], "Done."])
        ask(graph := create_agent(model, [echo, fail], checkpointer=saver), "go", thread(name))
        return [message.model_dump() for message in history(graph, thread(name))]

    one, other = left(ask_sync, "one"), left(ask_async, "other")
    assert one[1:] == other[1:]
