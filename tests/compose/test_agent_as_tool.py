"""The agent as a tool of another agent: ours, and LangChain's."""

from typing import Any

import pytest
from langchain.agents import create_agent as langchains
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, interrupt

from agents import Ask, Graph, ask_async, results
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import call, say
from parents import summarising

Saver = BaseCheckpointSaver[Any]
OUTER = {"ours": create_agent, "langchain's": langchains}


@tool
def confirm(what: str) -> str:
    """Ask the user."""
    return f"{what}: {interrupt(what)}"


def delegating(agent: Graph, sync: bool = True) -> BaseTool:
    """A tool that hands its task to the agent."""

    def helper(task: str) -> str:
        """Have a task done."""
        return str(agent.invoke({"messages": [("user", task)]})["messages"][-1].content)

    async def ahelper(task: str) -> str:
        """Have a task done."""
        return str((await agent.ainvoke({"messages": [("user", task)]}))["messages"][-1].content)

    return tool("helper")(helper if sync else ahelper)


@pytest.mark.parametrize("outer", OUTER)
def test_its_interrupt_reaches_the_top_and_is_answered_there(ask: Ask, saver: Saver, outer: str) -> None:
    inner = ScriptedChatModel([call("confirm", what="sure?"), "It is done."], prefix="inner")
    boss = ScriptedChatModel([call("helper", task="do it"), "All done."], prefix="boss")
    helper = delegating(create_agent(inner, [confirm], name="inner"), sync=ask is not ask_async)
    graph: Graph = OUTER[outer](boss, [helper], checkpointer=saver)  # type: ignore[operator]  # two factories of one shape
    assert ask(graph, "go")["__interrupt__"][0].value == "sure?"
    found = ask(graph, Command(resume="yes"))["messages"]
    assert (results(found), found[-1].content) == (["It is done."], "All done.")
    assert inner.requests[-1][-1].content == "sure?: yes"
    assert (inner.calls, boss.calls) == (2, 2)


def test_two_of_them_in_one_message_are_asked_for_and_answered_apart(ask: Ask, saver: Saver) -> None:
    def step(request: Any) -> Any:
        asked = request[0].content
        return call("confirm", what=asked) if request[-1].type == "human" else f"{asked} {request[-1].content}"

    helper = delegating(create_agent(ScriptedChatModel(step), [confirm]), sync=ask is not ask_async)
    boss = ScriptedChatModel([say("", call("helper", task="a"), call("helper", task="b")), "Done."], prefix="boss")
    graph = create_agent(boss, [helper], checkpointer=saver)
    asked = ask(graph, "go")["__interrupt__"]
    assert sorted(one.value for one in asked) == ["a", "b"]
    answers = {one.id: one.value.upper() for one in asked}
    assert results(ask(graph, Command(resume=answers))["messages"]) == ["a a: A", "b b: B"]


def test_a_compaction_inside_leaves_the_agent_outside_alone(ask: Ask, saver: Saver) -> None:
    inner, worker = summarising(["word " * 700])
    boss = ScriptedChatModel([call("helper", task="tell me"), "Done."], prefix="boss")
    graph = create_agent(boss, [delegating(inner, sync=ask is not ask_async)], checkpointer=saver)
    found = ask(graph, "go")
    assert worker.calls == 1
    assert len(found["messages"]) == 4
    assert found["messages"][2].content.startswith("word word")
    assert graph.get_state({"configurable": {"thread_id": "t"}}).values["segments"] == []
