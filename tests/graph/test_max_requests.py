from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from agents import Ask, Graph, history, results, thread
from longthread.graph import ScriptedChatModel, as_node, build_agent, create_agent
from longthread.graph.scripted import call
from longthread.tools.errors import LongthreadError, RequestLimitReached, SettingsError

Saver = BaseCheckpointSaver[Any]


@tool
def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


def looks(times: int, *after: Any) -> ScriptedChatModel:
    return ScriptedChatModel([*(call("look", n=n) for n in range(times)), *after])


def agent(model: ScriptedChatModel, limit: int, saver: Saver | None = None) -> Graph:
    return create_agent(model, [look], max_requests=limit, checkpointer=saver)


def test_the_limit_ends_the_run_with_a_typed_error(ask: Ask) -> None:
    model = looks(10)
    with pytest.raises(RequestLimitReached, match="max_requests=3; invoke the graph with None") as caught:
        ask(agent(model, 3), "go")
    assert model.calls == 3
    assert caught.value.limit == 3
    assert isinstance(caught.value, LongthreadError)


def test_a_run_of_exactly_as_many_requests_is_fine(ask: Ask) -> None:
    assert ask(agent(looks(2, "Done."), 3), "go")["messages"][-1].content == "Done."


def test_everything_until_then_is_saved_and_resuming_grants_as_many_again(ask: Ask, saver: Saver) -> None:
    model = looks(7, "Done.")
    graph = agent(model, 3, saver)
    for calls in (3, 6):
        with pytest.raises(RequestLimitReached):
            ask(graph, None if calls > 3 else "go")
        assert model.calls == calls
        assert results(history(graph)) == [f"seen {n}" for n in range(calls)]
        assert graph.get_state(thread()).tasks != ()
    assert ask(graph, None)["messages"][-1].content == "Done."
    assert model.calls == 8


def test_a_new_turn_begins_at_none(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([call("look"), "One.", call("look"), "Two."])
    graph = agent(model, 2, saver)
    ask(graph, "go")
    assert ask(graph, "go on")["messages"][-1].content == "Two."


def test_a_new_message_over_a_run_that_was_ended_begins_at_none(ask: Ask, saver: Saver) -> None:
    graph = agent(looks(2, "Stopped."), 2, saver)
    with pytest.raises(RequestLimitReached):
        ask(graph, "go")
    assert ask(graph, "stop")["messages"][-1].content == "Stopped."


def test_a_resume_after_another_error_goes_on_counting(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([call("look"), ValueError("no"), call("look"), "Done."])
    graph = agent(model, 2, saver)
    with pytest.raises(ValueError, match="no"):
        ask(graph, "go")
    with pytest.raises(RequestLimitReached):
        ask(graph, None)
    assert ask(graph, None)["messages"][-1].content == "Done."


@tool
def approved(n: int = 0) -> str:
    """Look, if the user allows it."""
    return f"{interrupt('may I?')} {n}"


def test_answered_interrupts_do_not_renew_the_count(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([*(call("approved", n=n) for n in range(6)), "Done."])
    graph = create_agent(model, [approved], max_requests=3, checkpointer=saver)
    ask(graph, "go")
    for limit in (3, 6):
        for _ in range(2):
            ask(graph, Command(resume="yes"))
        with pytest.raises(RequestLimitReached):
            ask(graph, Command(resume="yes"))
        assert model.calls == limit
        found = ask(graph, None)
    assert found["messages"][-1].content == "Done."


def test_a_new_turn_after_answered_interrupts_begins_at_none(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([call("approved"), call("approved"), "One.", call("look"), call("look"), "Two."])
    graph = create_agent(model, [approved, look], max_requests=3, checkpointer=saver)
    ask(graph, "go")
    ask(graph, Command(resume="yes"))
    assert ask(graph, Command(resume="yes"))["messages"][-1].content == "One."
    assert ask(graph, "go on")["messages"][-1].content == "Two."


def test_an_agent_that_a_parent_calls_twice_in_a_turn_begins_at_none(ask: Ask, saver: Saver) -> None:
    worker = as_node(create_agent(looks(1, "One.", call("look"), "Two."), [look], max_requests=2))
    builder = StateGraph(MessagesState)
    builder.add_node("agent", worker)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", lambda s: END if s["messages"][-1].content == "Two." else "agent")
    assert ask(builder.compile(checkpointer=saver), "go")["messages"][-1].content == "Two."


@pytest.mark.parametrize("memory", [True, False])
def test_inside_a_parent_it_ends_the_parents_run_which_can_be_resumed(ask: Ask, saver: Saver, memory: bool) -> None:
    model = looks(5, "Done.", "Again.")
    builder = StateGraph(MessagesState)
    builder.add_node("agent", as_node(create_agent(model, [look], max_requests=3), memory=memory))
    builder.add_edge(START, "agent")
    parent = builder.compile(checkpointer=saver)
    with pytest.raises(RequestLimitReached):
        ask(parent, "go", durability="sync")
    assert ask(parent, None)["messages"][-1].content == "Done."
    assert ask(parent, "again")["messages"][-1].content == "Again."
    assert model.calls == 7


def test_answers_that_a_node_of_the_users_own_sends_back_count(ask: Ask) -> None:
    builder = build_agent(ScriptedChatModel(["No."] * 9), max_requests=3)
    builder.add_node("critic", lambda state: {"messages": [("system", "Again.")]})
    builder.add_edge("call_model", "critic")
    builder.add_edge("critic", "pre_request_check")
    with pytest.raises(RequestLimitReached):
        ask(builder.compile(), "go")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused_when_the_graph_is_built(limit: int) -> None:
    with pytest.raises(SettingsError, match=f"max_requests={limit}"):
        agent(looks(0), limit)


def test_without_a_limit_a_hundred_requests_are_made(ask: Ask) -> None:
    model = looks(100, "Done.")
    ask(create_agent(model, [look]), "go")
    assert model.calls == 101
