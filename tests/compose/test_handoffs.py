"""Tools that hand over to a node of the parent, beside other calls of the same message."""

from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from langgraph_swarm import create_handoff_tool, create_swarm

from agents import Ask, Graph, results
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import call, say
from parents import WRAPS, Wrap, summarising
from validity import assert_valid

Saver = BaseCheckpointSaver[Any]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


to_alice, to_bob = create_handoff_tool(agent_name="alice"), create_handoff_tool(agent_name="bob")


def model_of(name: str, *steps: Any) -> ScriptedChatModel:
    return ScriptedChatModel(list(steps), prefix=name)


def swarm(wrap: Wrap, saver: Saver, alice: ScriptedChatModel, bob: ScriptedChatModel, *more: Any) -> Graph:
    agents = [
        create_agent(alice, [add, to_bob, *more], name="alice"),
        create_agent(bob, [add, to_alice], name="bob"),
    ]
    built = create_swarm([wrap(agent) for agent in agents], default_active_agent="alice")
    return built.compile(checkpointer=saver)


def test_the_other_calls_are_run_first_and_every_result_travels(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    calls = say("", call("add", a=1, b=2), call("transfer_to_bob"), call("add", a=3, b=4))
    bob = model_of("bob", "Bob here.")
    found = ask(swarm(wrap, saver, model_of("alice", calls), bob), "hi")
    assert results(found["messages"]) == ["3", "Successfully transferred to bob", "7"]
    assert found["messages"][-1].content == "Bob here."
    assert found["active_agent"] == "bob"
    assert_valid(bob.requests[0])


def test_they_hand_over_and_back_over_several_turns(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    alice = model_of("alice", call("transfer_to_bob"), "Alice again.", call("transfer_to_bob"))
    bob = model_of("bob", "Bob here.", say("", call("add", a=1, b=1), call("transfer_to_alice")), "Bob again.")
    graph = swarm(wrap, saver, alice, bob)
    for said, answer in (("hi", "Bob here."), ("back", "Alice again."), ("once more", "Bob again.")):
        assert ask(graph, said)["messages"][-1].content == answer
    for request in (*alice.requests, *bob.requests):
        assert_valid(request)


def test_of_two_handoffs_in_one_message_the_first_counts(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    bob = model_of("bob", "Bob here.")
    alice = model_of("alice", say("", call("transfer_to_bob"), call("transfer_to_nobody")))
    found = ask(swarm(wrap, saver, alice, bob, create_handoff_tool(agent_name="nobody")), "hi")
    first, second = results(found["messages"])
    assert first == "Successfully transferred to bob"
    assert "not finished" in second
    assert_valid(bob.requests[0])


@tool
def unmarked(state: Annotated[Any, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hand over as LangGraph's documentation writes it, with nothing that marks the tool."""
    result = ToolMessage("over to you", tool_call_id=tool_call_id)
    return Command(goto="bob", graph=Command.PARENT, update={"messages": [*state["messages"], result]})


@tool
def short(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hand over with the result alone."""
    result = ToolMessage("over to you", tool_call_id=tool_call_id)
    return Command(goto="bob", graph=Command.PARENT, update={"messages": [result]})


@tool
def silent() -> Command[Any]:
    """Hand over without a word."""
    return Command(goto="bob", graph=Command.PARENT)


@pytest.mark.parametrize("name", ["unmarked", "short", "silent"])
def test_a_handoff_that_nothing_marks_leaves_no_call_without_result(
    ask: Ask, saver: Saver, wrap: Wrap, name: str
) -> None:
    alice = model_of("alice", say("", call("add", a=1, b=2), call(name), call("add", a=3, b=4)), "Alice again.")
    bob = model_of("bob", "Bob here.", call("transfer_to_alice"))
    graph = swarm(wrap, saver, alice, bob, unmarked, short, silent)
    found = ask(graph, "hi")["messages"]
    assert found[-1].content == "Bob here."
    assert_answered(found)
    assert ask(graph, "back")["messages"][-1].content == "Alice again."
    for request in (*alice.requests, *bob.requests):
        assert_valid(request)


def assert_answered(messages: list[AnyMessage]) -> None:
    calls = [str(made["id"]) for message in messages if isinstance(message, AIMessage) for made in message.tool_calls]
    assert sorted(calls) == sorted(m.tool_call_id for m in messages if isinstance(m, ToolMessage))


def test_calls_that_another_agent_left_open_are_not_run(ask: Ask, wrap: Wrap) -> None:
    ran: list[str] = []

    @tool
    def deploy(where: str) -> str:
        """Change something."""
        ran.append(where)
        return "deployed"

    def other(state: Any) -> dict[str, list[AnyMessage]]:
        asking = AIMessage("", tool_calls=[call("deploy", "c1", where="here")], name="other", id="o1")
        return {"messages": [asking]}

    model = model_of("ours", "Ours.")
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("other", other)
    builder.add_node("agent", wrap(create_agent(model, [deploy])))
    builder.add_edge(START, "other")
    builder.add_edge("other", "agent")
    assert ask(builder.compile(), "hi")["messages"][-1].content == "Ours."
    assert ran == []
    assert_valid(model.requests[0])


@pytest.mark.parametrize("name", ["plain", "replace"])
def test_a_history_that_was_compacted_before_the_handoff_is_taken_over_compacted(
    ask: Ask, saver: Saver, name: str
) -> None:
    """The summary stands before what came after it; nothing that was summarised is sent again."""
    alice, _ = summarising(["word " * 700, call("transfer_to_bob")], tools=[to_bob], name="alice")
    bob = model_of("bob", "Bob here.")
    agents = [WRAPS[name](alice), WRAPS[name](create_agent(bob, [to_alice], name="bob"))]
    graph = create_swarm(agents, default_active_agent="alice").compile(checkpointer=saver)
    ask(graph, "tell me")
    found = ask(graph, "go on")["messages"]
    assert [m.type for m in bob.requests[0]] == ["system", "ai", "human", "ai", "tool"]
    assert "active task" in str(bob.requests[0][0].content)
    assert not any(len(str(message.content)) > 3_000 for message in bob.requests[0])
    assert (found[0].type == "system") == (name == "replace")
