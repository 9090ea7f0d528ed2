"""Copies of one agent side by side, by `Send`."""

from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from agents import Ask, Graph, plan, todo
from longthread.graph import ScriptedChatModel, as_node, build_agent, create_agent
from longthread.tools.errors import SettingsError, ThreadBusy
from parents import parent

Saver = BaseCheckpointSaver[Any]
PARTS = ["part 0", "part 1", "part 2"]


def answered(request: list[BaseMessage]) -> Any:
    """A plan first, so that each copy has a state of its own; then what it was asked."""
    asked = next(message.content for message in request if message.type == "human")
    return plan(todo(content=str(asked))) if request[-1].type == "human" else f"answer to {asked}"


def fanned_out(saver: Saver | None, **options: Any) -> tuple[Graph, ScriptedChatModel]:
    def spread(_: MessagesState) -> list[Send]:
        return [Send("agent", {"messages": [("user", part)]}) for part in PARTS]

    model = ScriptedChatModel(answered)
    builder = StateGraph(MessagesState)
    builder.add_node("agent", as_node(create_agent(model), **options))
    builder.add_conditional_edges(START, spread, ["agent"])
    return builder.compile(checkpointer=saver), model


@pytest.mark.parametrize("stored", [True, False], ids=["saver", "no saver"])
def test_three_copies_give_three_answers_and_share_nothing(ask: Ask, saver: Saver, stored: bool) -> None:
    graph, model = fanned_out(saver if stored else None, mode="last", memory=False)
    found = ask(graph, "all of it")["messages"]
    assert [m.content for m in found] == ["all of it", *(f"answer to {part}" for part in PARTS)]
    for request in model.requests:
        assert len([message for message in request if message.type == "human"]) == 1


def test_two_histories_cannot_both_replace_the_parents(ask: Ask, saver: Saver) -> None:
    graph, _ = fanned_out(saver, mode="replace", memory=False)
    with pytest.raises(InvalidUpdateError, match="only one Overwrite"):
        ask(graph, "all of it")


def test_copies_that_would_share_a_memory_are_refused_with_the_way_out(ask: Ask, saver: Saver) -> None:
    graph, _ = fanned_out(saver, mode="last", memory=True)
    with pytest.raises(ThreadBusy, match="memory=False"):
        ask(graph, "all of it")


def test_a_refused_copy_does_not_block_the_thread(ask: Ask, saver: Saver) -> None:
    agent = create_agent(ScriptedChatModel(["One.", "Two."]))
    builder = StateGraph(MessagesState)
    builder.add_node("agent", as_node(agent, "last"))
    builder.add_edge(START, "agent")
    graph = builder.compile(checkpointer=saver)
    ask(graph, "go")
    assert ask(graph, "go on")["messages"][-1].content == "Two."


class Unreduced(TypedDict):
    messages: list[Any]


def test_replace_refuses_a_parent_whose_messages_have_no_reducer(ask: Ask) -> None:
    builder = StateGraph(Unreduced)
    builder.add_node("agent", as_node(create_agent(ScriptedChatModel(["One."]))))
    builder.add_edge(START, "agent")
    with pytest.raises(SettingsError, match="add_messages"):
        ask(builder.compile(), "go")


def test_a_graph_that_is_not_compiled_is_refused() -> None:
    with pytest.raises(SettingsError, match="compile"):
        as_node(build_agent(ScriptedChatModel([])))  # type: ignore[arg-type]  # meant


def test_a_parent_without_messages_is_refused(ask: Ask) -> None:
    class Other(TypedDict):
        text: str

    graph = parent(as_node(create_agent(ScriptedChatModel([]))), None, Other)
    with pytest.raises(SettingsError, match="'messages'"):
        ask(graph, {"text": "go"})
