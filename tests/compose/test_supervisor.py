"""The agent under the supervisor of langgraph-supervisor."""

import warnings
from typing import Any, Literal

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.warnings import LangGraphDeprecatedSinceV10
from langgraph_supervisor import create_supervisor

from agents import Ask, Graph, plan, reminders, results, todo
from longthread.graph import ScriptedChatModel, as_node, create_agent
from longthread.graph.scripted import Step, call, say
from validity import assert_valid

Saver = BaseCheckpointSaver[Any]
Output = Literal["full_history", "last_message"]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def supervised(agent: Any, saver: Saver, boss: ScriptedChatModel, output: Output) -> Graph:
    with warnings.catch_warnings():
        # The package itself builds on what LangGraph has deprecated.
        warnings.simplefilter("ignore", LangGraphDeprecatedSinceV10)
        return create_supervisor([agent], model=boss, output_mode=output).compile(checkpointer=saver)


def models(turns: int = 2) -> tuple[ScriptedChatModel, ScriptedChatModel]:
    steps: list[Step] = [step for n in range(turns) for step in (call("transfer_to_worker"), f"Done {n}.")]
    boss = ScriptedChatModel(steps, prefix="boss")
    first = say("", call("add", a=1, b=2), plan(todo()))
    return boss, ScriptedChatModel([first, *(f"Three {n}." for n in range(turns))], prefix="worker")


@pytest.mark.parametrize("output", ["full_history", "last_message"])
def test_it_works_for_a_supervisor_over_two_turns(ask: Ask, saver: Saver, output: Output) -> None:
    boss, model = models()
    graph = supervised(create_agent(model, [add], name="worker", checkpointer=True), saver, boss, output)
    for n in range(2):
        found = ask(graph, f"task {n}")["messages"]
        assert found[-1].content == f"Done {n}."
    assert ("3" in results(found)) == (output == "full_history")
    assert f"Three {n}." in [message.content for message in found]
    for request in (*boss.requests, *model.requests):
        assert_valid(request)


def test_it_takes_in_each_message_of_the_supervisors_once_and_keeps_its_plan(ask: Ask, saver: Saver) -> None:
    boss, model = models()
    graph = supervised(create_agent(model, [add], name="worker", checkpointer=True), saver, boss, "last_message")
    ask(graph, "task 0")
    ask(graph, "task 1")
    request = model.requests[-1]
    assert [m.content for m in request if m.type == "human"] == ["task 0", "task 1"]
    assert [m.content for m in request if m.content == "Three 0."] == ["Three 0."]
    assert len(reminders(request)) == 1  # type: ignore[arg-type]  # requests are messages too


def test_without_memory_it_begins_afresh_each_time(ask: Ask, saver: Saver) -> None:
    boss, model = models()
    graph = supervised(create_agent(model, [add], name="worker"), saver, boss, "last_message")
    ask(graph, "task 0")
    ask(graph, "task 1")
    assert not reminders(model.requests[-1])  # type: ignore[arg-type]  # requests are messages too


def test_as_node_in_last_mode_is_an_agent_for_a_supervisor_too(ask: Ask, saver: Saver) -> None:
    boss, model = models()
    node = as_node(create_agent(model, [add], name="worker"), "last")
    graph = supervised(node, saver, boss, "last_message")
    ask(graph, "task 0")
    assert ask(graph, "task 1")["messages"][-1].content == "Done 1."
    assert len(reminders(model.requests[-1])) == 1  # type: ignore[arg-type]  # requests are messages too
