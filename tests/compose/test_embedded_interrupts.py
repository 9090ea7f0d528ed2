"""Interrupts of an embedded agent reach the top and are answered there."""

from pathlib import Path
from typing import Any

from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, interrupt

from agents import Ask, Graph, results
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import call, say
from parents import Wrap, parent

Saver = BaseCheckpointSaver[Any]


@tool
def confirm(what: str) -> str:
    """Ask the user."""
    return f"{what}: {interrupt(what)}"


def grandparent(agent: Graph, wrap: Wrap, saver: Saver) -> Graph:
    """Two levels above the agent."""
    return parent(parent(wrap(agent)), saver)


def test_from_two_levels_down_with_each_call_answered_apart(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    model = ScriptedChatModel([say("", call("confirm", what="a"), call("confirm", what="b")), "Done."])
    graph = grandparent(create_agent(model, [confirm]), wrap, saver)
    asked = ask(graph, "go")["__interrupt__"]
    assert sorted(one.value for one in asked) == ["a", "b"]
    found = ask(graph, Command(resume={one.id: one.value.upper() for one in asked}))
    assert found["messages"][-1].content == "Done."
    assert results(model.requests[-1]) == ["a: A", "b: B"]  # type: ignore[arg-type]  # requests are messages too
    assert model.calls == 2


def test_the_approval_of_a_command_in_the_shape_of_langchains_middleware(
    ask: Ask, saver: Saver, wrap: Wrap, tmp_path: Path
) -> None:
    model = ScriptedChatModel([call("run_command", command="echo hello"), "Done."])
    agent = create_agent(model, workspace=tmp_path, allow_commands="ask")
    graph = grandparent(agent, wrap, saver)
    [asked] = ask(graph, "go")["__interrupt__"]
    assert asked.value["action_requests"][0]["args"]["command"] == "echo hello"
    ask(graph, Command(resume={"decisions": [{"type": "approve"}]}))
    assert "hello" in results(model.requests[-1])[0]  # type: ignore[arg-type]  # requests are messages too
