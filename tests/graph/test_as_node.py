"""The agent as a node of a parent: what goes in, what comes back, what is remembered between turns."""

import operator
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from agents import Ask, Graph, ask_async, ask_sync, history, plan, reminders, shape, todo
from longthread.graph import CompactionConfig, ScriptedChatModel, as_node, create_agent
from longthread.graph.scripted import Step, call, say
from longthread.tools.errors import SettingsError
from validity import assert_valid

Saver = BaseCheckpointSaver[Any]
Mode = Literal["replace", "last"]
both_modes = pytest.mark.parametrize("mode", ["replace", "last"])
with_and_without_memory = pytest.mark.parametrize("memory", [True, False], ids=["memory", "no memory"])


class SharingTodos(MessagesState):
    todos: list[dict[str, str]]


def parent(agent: Graph, saver: Saver | None, schema: type[Any] = MessagesState, **options: Any) -> Graph:
    builder = StateGraph(schema)
    builder.add_node("agent", as_node(agent, **options))
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=saver)


@both_modes
@with_and_without_memory
def test_two_turns_of_a_parent_with_a_saver(ask: Ask, saver: Saver, mode: Mode, memory: bool) -> None:
    model = ScriptedChatModel([plan(todo()), "One.", "Two."])
    graph = parent(create_agent(model), saver, mode=mode, memory=memory)
    ask(graph, "go")
    found = ask(graph, "go on")["messages"]
    assert [m.content for m in found if m.type == "human"] == ["go", "go on"]
    assert [m.content for m in found if m.type == "ai" and m.content] == ["One.", "Two."]
    assert len(found) == (7 if mode == "replace" else 4)
    for request in model.requests:
        assert_valid(request)


@both_modes
@with_and_without_memory
def test_without_a_saver_each_call_stands_alone(ask: Ask, mode: Mode, memory: bool) -> None:
    graph = parent(create_agent(ScriptedChatModel(["One.", "Two."])), None, mode=mode, memory=memory)
    ask(graph, "go")
    assert [m.content for m in ask(graph, "go on")["messages"]] == ["go on", "Two."]


@both_modes
def test_todos_written_in_the_first_turn_are_there_in_the_second(ask: Ask, saver: Saver, mode: Mode) -> None:
    model = ScriptedChatModel([plan(todo()), "One.", "Two."])
    ask(graph := parent(create_agent(model), saver, mode=mode), "go")
    ask(graph, "go on")
    assert "[ ] (1) write the docs" in str(model.requests[-1][-1].content)


def test_without_memory_they_are_restored_from_the_history_that_the_parent_keeps(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([plan(todo()), "One.", "Two."])
    ask(graph := parent(create_agent(model), saver, memory=False), "go")
    ask(graph, "go on")
    assert "[ ] (1) write the docs" in str(model.requests[-1][-1].content)


@both_modes
@with_and_without_memory
def test_a_parent_that_shares_todos_keeps_them(ask: Ask, saver: Saver, mode: Mode, memory: bool) -> None:
    model = ScriptedChatModel([plan(todo()), "One.", plan(todo(status="completed")), "Two."])
    graph = parent(create_agent(model), saver, SharingTodos, mode=mode, memory=memory)
    assert ask(graph, "go")["todos"] == [todo()]
    assert ask(graph, "go on")["todos"] == [todo(status="completed")]
    assert len(reminders(model.requests[2])) == 1  # type: ignore[arg-type]  # requests are messages too


def test_todos_that_the_parent_changes_are_the_agents(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([plan(todo()), "One.", "Two."])
    ask(graph := parent(create_agent(model), saver, SharingTodos), "go")
    ask(graph, {"messages": [("user", "go on")], "todos": [todo("2", "another")]})
    assert "[ ] (2) another" in str(model.requests[-1][-1].content)


@both_modes
def test_with_memory_a_turn_costs_one_request_for_each_step(ask: Ask, saver: Saver, mode: Mode) -> None:
    model = ScriptedChatModel([f"Answer {n}." for n in range(5)])
    graph = parent(create_agent(model), saver, mode=mode)
    for n in range(5):
        ask(graph, f"turn {n}")
    assert model.calls == 5
    assert [m.content for m in model.requests[-1]] == [
        text for n in range(5) for text in (f"turn {n}", f"Answer {n}.")
    ][:-1]


class Plain(TypedDict):
    messages: Annotated[list[Any], operator.add]


def test_a_parent_that_gives_no_ids_hands_in_each_message_once(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel(["One.", "Two."])
    graph = parent(create_agent(model), saver, Plain, mode="last")
    ask(graph, "go")
    ask(graph, "go on")
    assert [m.content for m in model.requests[-1]] == ["go", "One.", "go on"]


def compacting() -> tuple[Graph, ScriptedChatModel]:
    """An agent that compacts after its first answer, worker included."""
    sections = ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
    summary = "".join(f"## {name}\n{'so far' if name == 'Active Task' else '-'}\n\n" for name in sections)
    worker = ScriptedChatModel([call("write_summary", text=summary), "Done."], prefix="w")
    config = CompactionConfig(
        compact_threshold=1_500,
        retained_tokens=60,
        auto_read_budget=0,
        summary_max_tokens=200,
        pinned_user_tokens=60,
    )
    model = ScriptedChatModel([say("word " * 1_500), "Two."], usage=False)
    return create_agent(model, worker_model=worker, compaction=config), model


def test_in_replace_mode_the_parents_messages_shrink(ask: Ask, saver: Saver) -> None:
    agent, _ = compacting()
    ask(graph := parent(agent, saver, mode="replace"), "tell me")
    assert history(graph)[0].additional_kwargs["source"] == "compaction_summary"
    assert not any(len(str(message.content)) > 5_000 for message in history(graph))


def test_in_last_mode_what_was_summarised_is_not_taken_in_again(ask: Ask, saver: Saver) -> None:
    agent, model = compacting()
    graph = parent(agent, saver, mode="last")
    ask(graph, "tell me")
    ask(graph, "go on")
    assert [message.content for message in history(graph)][::2] == ["tell me", "go on"]
    assert "so far" in str(model.requests[-1][0].content)
    assert not any(len(str(message.content)) > 5_000 for message in model.requests[-1])


@both_modes
def test_an_interrupt_reaches_the_top_and_its_answer_the_tool(ask: Ask, saver: Saver, mode: Mode) -> None:
    @tool
    def confirm() -> str:
        """Ask."""
        return f"said {interrupt('sure?')}"

    model = ScriptedChatModel([plan(todo()), call("confirm"), "Done."])
    graph = parent(create_agent(model, [confirm]), saver, mode=mode)
    assert ask(graph, "go")["__interrupt__"][0].value == "sure?"
    assert ask(graph, Command(resume="yes"))["messages"][-1].content == "Done."
    assert model.calls == 3
    assert model.requests[-1][-1].content == "said yes"


@both_modes
@with_and_without_memory
def test_a_run_that_failed_inside_is_resumed_inside(ask: Ask, saver: Saver, mode: Mode, memory: bool) -> None:
    model = ScriptedChatModel([plan(todo()), ValueError("no"), "Done."])
    graph = parent(create_agent(model), saver, mode=mode, memory=memory)
    with pytest.raises(ValueError, match="no"):
        ask(graph, "go", durability="sync")
    assert ask(graph, None)["messages"][-1].content == "Done."
    assert model.calls == 3


def test_a_plain_compiled_agent_is_a_node_too(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([plan(todo()), "One.", "Two."])
    builder = StateGraph(SharingTodos)
    builder.add_node("agent", create_agent(model))
    builder.add_edge(START, "agent")
    graph = builder.compile(checkpointer=saver)
    ask(graph, "go")
    found = ask(graph, "go on")
    assert found["todos"] == [todo()]
    assert [m.content for m in found["messages"] if m.type == "human"] == ["go", "go on"]


def test_another_node_may_speak_between_the_turns(ask: Ask, saver: Saver) -> None:
    def second(state: MessagesState) -> dict[str, list[AnyMessage]]:
        return {"messages": [AIMessage("I agree.", name="critic", id=f"critic-{len(state['messages'])}")]}

    model = ScriptedChatModel(["One.", "Two."])
    builder = StateGraph(MessagesState)
    builder.add_node("agent", as_node(create_agent(model)))
    builder.add_node("critic", second)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "critic")
    graph = builder.compile(checkpointer=saver)
    ask(graph, "go")
    ask(graph, "go on")
    assert [m.content for m in model.requests[-1]] == ["go", "One.", "I agree.", "go on"]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(SettingsError, match="'all'"):
        as_node(create_agent(ScriptedChatModel([])), mode="all")  # type: ignore[arg-type]  # meant


@both_modes
def test_sync_and_async_give_the_parent_the_same(saver: Saver, mode: Mode) -> None:
    def left(ask: Callable[..., Any], name: str) -> list[Any]:
        steps: list[Step] = [plan(todo()), "One.", "Two."]
        graph = parent(create_agent(ScriptedChatModel(steps)), saver, mode=mode)
        config: Any = {"configurable": {"thread_id": name}}
        ask(graph, "go", config)
        return shape(ask(graph, "go on", config)["messages"])

    assert left(ask_sync, "one") == left(ask_async, "other")
