"""A history that several agents wrote: each counts, and begins turns, by what is its own."""

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from agents import Ask, Graph, plan, reminders, todo
from compacting import CONFIG
from longthread.graph import ScriptedChatModel, as_node, create_agent
from longthread.nodes.history.weights import TokenMeter
from parents import summarising
from provider_counts import Provider

Saver = BaseCheckpointSaver[Any]
LATER = CONFIG.model_copy(update={"proactive": "before_next_turn"})


def test_what_another_agents_request_measured_is_not_taken_for_ones_own() -> None:
    asked = HumanMessage("hi", id="h1")
    answer = Provider(fixed=5_000).answer([asked], AIMessage("Hello.", name="alice"))
    for agent, source in (("alice", "measured"), (None, "measured"), ("bob", "estimated")):
        found = TokenMeter(100, "model-a", agent=agent).occupancy([asked, answer])
        assert found["source"] == source
        assert (found["tokens"] > 5_000) == (source == "measured")


def after_a_planner(agent: Graph, saver: Saver) -> Graph:
    """A parent in which another speaks between the user and the agent."""

    def planner(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("I would look first.", name="planner", id=f"p{len(state['messages'])}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("planner", planner)
    builder.add_node("agent", as_node(agent))
    builder.add_edge(START, "planner")
    builder.add_edge("planner", "agent")
    return builder.compile(checkpointer=saver)


def test_a_turn_begins_for_an_agent_although_another_answered_first(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([plan(todo()), "One.", "Two."])
    graph = after_a_planner(create_agent(model), saver)
    ask(graph, "go")
    ask(graph, "go on")
    assert len(reminders(model.requests[-1])) == 1  # type: ignore[arg-type]  # requests are messages too


def test_before_the_next_turn_it_compacts_although_another_answered_first(ask: Ask, saver: Saver) -> None:
    agent, worker = summarising(["word " * 700, "Two."], LATER)
    graph = after_a_planner(agent, saver)
    ask(graph, "tell me")
    assert worker.calls == 0
    assert ask(graph, "go on")["messages"][-1].content == "Two."
    assert worker.calls == 1
