"""What users add to the agent: keys of the state, nodes around ours, a context, a store, async tools."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import MessagesState
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel

from agents import Ask, ask_sync, results
from longthread.graph import AgentState, ScriptedChatModel, as_node, build_agent, create_agent
from longthread.graph.scripted import Step, call, say
from longthread.tools.errors import RequestLimitReached, SettingsError
from parents import Wrap, parent, summarising

Saver = BaseCheckpointSaver[Any]


def united(old: list[str] | None, new: list[str] | None) -> list[str]:
    """Each note once, so that a write that arrives twice changes nothing."""
    return list(dict.fromkeys([*(old or []), *(new or [])]))


class Noting(AgentState):
    notes: Annotated[list[str], united]
    colour: NotRequired[str]


class NotingParent(MessagesState):
    notes: Annotated[list[str], united]
    colour: str


@dataclass
class Who:
    name: str


Runtime = ToolRuntime[Who, Any]


@tool
def note(text: str, runtime: Runtime) -> Command[Any]:
    """Write a note into the state."""
    line = f"{text} in {runtime.state.get('colour')}"
    answer = ToolMessage("noted", tool_call_id=runtime.tool_call_id)
    return Command(update={"notes": [line], "messages": [answer]})


@tool
def who(runtime: Runtime) -> str:
    """Name the user."""
    return runtime.context.name


@tool
def remembered(key: str, runtime: Runtime) -> str:
    """Look into the store."""
    assert runtime.store is not None
    found = runtime.store.get(("facts",), key)
    return str(found.value["text"]) if found else "nothing"


@tool
async def awaited(text: str) -> str:
    """Exists in async only."""
    await asyncio.sleep(0)
    return f"awaited {text}"


TOO_MANY: list[Step] = [call("awaited", text="c"), call("awaited", text="d"), "Three."]
TWO_NOTES = say("", call("note", text="one"), call("note", text="two"))


def test_tools_write_keys_of_ones_own_side_by_side(ask: Ask, saver: Saver) -> None:
    graph = create_agent(ScriptedChatModel([TWO_NOTES, "Done."]), [note], state_schema=Noting, checkpointer=saver)
    found = ask(graph, {"messages": "go", "colour": "red"})
    assert (sorted(found["notes"]), found["colour"]) == (["one in red", "two in red"], "red")


def test_they_travel_from_the_parent_and_back_over_several_turns(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    agent = create_agent(ScriptedChatModel([TWO_NOTES, "Done.", TWO_NOTES, "Done."]), [note], state_schema=Noting)
    graph = parent(wrap(agent), saver, NotingParent)
    ask(graph, {"messages": [("user", "go")], "colour": "red"})
    found = ask(graph, {"messages": [("user", "go on")], "colour": "blue"})
    assert sorted(found["notes"]) == ["one in blue", "one in red", "two in blue", "two in red"]
    assert found["colour"] == "blue"


def test_a_compaction_leaves_them_alone(ask: Ask, saver: Saver) -> None:
    agent, worker = summarising([TWO_NOTES, "word " * 700], tools=[note], state_schema=Noting, checkpointer=saver)
    found = ask(agent, {"messages": "go", "colour": "red"})
    assert worker.calls == 1
    assert sorted(found["notes"]) == ["one in red", "two in red"]


def test_a_schema_that_does_not_extend_ours_is_refused() -> None:
    with pytest.raises(SettingsError, match="AgentState"):
        create_agent(ScriptedChatModel([]), state_schema=MessagesState)


def test_tools_read_the_context_at_every_level(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    model = ScriptedChatModel([call("who"), "Done."])
    graph = parent(parent(wrap(create_agent(model, [who], context_schema=Who))), saver)
    ask(graph, "go", context=Who("Ann"))
    assert model.requests[-1][-1].content == "Ann"


@pytest.mark.filterwarnings("error")
def test_our_own_tools_take_any_context_without_a_warning(ask: Ask, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    calls = say("", call("read_file", path="a.txt"), call("grep", pattern="h"), call("todo_write", todos=[]))
    agent = create_agent(ScriptedChatModel([calls, "Done."]), workspace=tmp_path, context_schema=Who)
    found = ask(agent, "go", context=Who("Ann"))
    assert not any(text.startswith("Error") for text in results(found["messages"]))


def test_tools_reach_the_store_of_the_agent_or_of_the_parent(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    store = InMemoryStore()
    store.put(("facts",), "sky", {"text": "blue"})
    steps: list[Step] = [call("remembered", key="sky"), "Done."]
    own = create_agent(ScriptedChatModel(steps), [remembered], store=store)
    assert results(ask(own, "go")["messages"]) == ["blue"]
    model = ScriptedChatModel(steps)
    builder = parent(wrap(create_agent(model, [remembered]))).builder
    ask(builder.compile(checkpointer=saver, store=store), "go")
    assert model.requests[-1][-1].content == "blue"


@pytest.mark.parametrize("in_loop", [False, True], ids=["no loop", "inside a running loop"])
def test_an_async_tool_runs_under_a_sync_invoke(in_loop: bool) -> None:
    calls = say("", call("awaited", text="one"), call("awaited", text="two"))

    def run() -> list[str]:
        graph = create_agent(ScriptedChatModel([call("awaited", text="zero"), calls, "Done."]), [awaited])
        return results(ask_sync(graph, "go")["messages"])

    async def notebook() -> list[str]:
        return run()

    assert (asyncio.run(notebook()) if in_loop else run()) == ["awaited zero", "awaited one", "awaited two"]


def test_a_node_of_ones_own_between_the_tools_and_the_next_request(ask: Ask, saver: Saver) -> None:
    def look_up(state: AgentState) -> dict[str, list[AnyMessage]]:
        """Adds what the model did not ask for; the source says that it is not the user's."""
        found = HumanMessage(f"(seen after {state['messages'][-1].content})", additional_kwargs={"source": "node"})
        return {"messages": [found]}

    model = ScriptedChatModel([TWO_NOTES, call("awaited", text="three"), "Done."])
    builder = build_agent(model, [note, awaited], state_schema=Noting)
    builder.add_node("look_up", look_up)
    builder.edges.remove(("execute_tools", "inject_reminder"))
    builder.add_edge("execute_tools", "look_up")
    builder.add_edge("look_up", "inject_reminder")
    ask(builder.compile(checkpointer=saver), "go")
    said = [m.content for m in model.requests[-1] if m.type == "human"]
    assert said == ["go", "(seen after noted)", "(seen after awaited three)"]


def test_a_node_of_ones_own_that_watches_each_answer(ask: Ask, saver: Saver) -> None:
    seen: list[str] = []
    builder = build_agent(ScriptedChatModel([call("awaited", text="one"), "Done."]), [awaited])
    builder.add_node("watch", lambda state: seen.append(str(state["messages"][-1].content)))
    builder.add_edge("call_model", "watch")
    assert ask(builder.compile(checkpointer=saver), "go")["messages"][-1].content == "Done."
    assert seen == ["", "Done."]


def test_many_steps_inside_do_not_count_against_a_small_default(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    model = ScriptedChatModel([*(call("awaited", text=str(n)) for n in range(15)), "Done."])
    graph = parent(wrap(create_agent(model, [awaited])), saver)
    assert ask(graph, "go")["messages"][-1].content == "Done."


def test_max_requests_counts_for_each_turn_of_the_parent(ask: Ask, saver: Saver, wrap: Wrap) -> None:
    steps: list[Step] = [call("awaited", text="a"), "One.", call("awaited", text="b"), "Two.", *TOO_MANY]
    graph = parent(wrap(create_agent(ScriptedChatModel(steps), [awaited], max_requests=2)), saver)
    assert ask(graph, "go")["messages"][-1].content == "One."
    assert ask(graph, "go on")["messages"][-1].content == "Two."
    with pytest.raises(RequestLimitReached):
        ask(graph, "too much", durability="sync")
    assert ask(graph, None)["messages"][-1].content == "Three."


class Validated(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]


@dataclass
class Held:
    messages: Annotated[list[AnyMessage], add_messages]


@pytest.mark.parametrize("schema", [Validated, Held])
def test_the_parents_state_may_be_a_model_or_a_dataclass(ask: Ask, saver: Saver, schema: type[Any]) -> None:
    graph = parent(as_node(create_agent(ScriptedChatModel(["One.", "Two."]))), saver, schema)
    ask(graph, "go")
    assert [m.content for m in ask(graph, "go on")["messages"]] == ["go", "One.", "go on", "Two."]
