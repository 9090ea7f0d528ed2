"""Tools of the user's own: what they ask for, and what they may answer with."""

import asyncio
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command
from pydantic import BaseModel

from agents import Ask, ask_sync, plan, results, todo
from longthread.graph import AgentState, ReminderConfig, ScriptedChatModel, create_agent
from longthread.graph.scripted import call
from running import echo, marks, ran

Saver = BaseCheckpointSaver[Any]


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


def test_a_tool_may_take_a_model_as_its_argument(ask: Ask) -> None:
    class Point(BaseModel):
        x: int

    @tool
    def plot(point: Point) -> str:
        """Plot."""
        return f"at {point.x}"

    assert results(ran(ask, [plot], call("plot", point={"x": 3}))) == ["at 3"]


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


def test_a_direct_answer_ends_the_turn_also_where_a_reminder_is_due(ask: Ask) -> None:
    @tool(return_direct=True)
    def answer() -> str:
        """Answer."""
        return "42"

    model = ScriptedChatModel([plan(todo()), call("answer")])
    graph = create_agent(model, [answer], reminders=ReminderConfig(idle_requests=1))
    assert results(ask(graph, "go")["messages"])[-1] == "42"
    assert model.calls == 2


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
