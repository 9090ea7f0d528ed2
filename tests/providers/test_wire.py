"""What the real packages put on the wire for our requests, and that each house's server takes it."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from agents import Graph, ask_sync
from chat_wire import ChatHouse
from compacting import CONFIG, SUMMARY
from house_server import HouseServer, Said
from houses import IMAGE, KINDS, PLAN, Home, look, photograph
from longthread.graph import create_agent
from longthread.graph.scripted import call

Run = Callable[[Graph, Any], dict[str, Any]]
IN_PLACE = ("responses", "chat")
"""Those that take system messages in mid-history."""
LOOK_TWICE = (("look", {"at": "one"}), ("look", {"at": "two"}))


def agent(home: Home, **options: Any) -> Graph:
    return create_agent(
        home.model, [look, photograph], system_prompt="Be careful.", checkpointer=InMemorySaver(), **options
    )


def texts(part: Any) -> list[str]:
    """Every text in a part of a request, whatever a house calls it."""
    if isinstance(part, str):
        return [part]
    if isinstance(part, list):
        return [text for inner in part for text in texts(inner)]
    return [text for key in ("content", "parts", "text") if key in part for text in texts(part[key])]


def roles(home: Home) -> list[str]:
    return [str(message.get("role", message.get("type"))) for message in home.spoken]


def test_parallel_calls_an_image_and_thinking_are_taken_back(home: Home, run: Run) -> None:
    home.server.answer(Said("I look.", calls=LOOK_TWICE, thinking="Hm."), Said("Done.", thinking="So."), Said("Yes."))
    graph = agent(home)
    found = run(graph, {"messages": [HumanMessage(IMAGE)]})
    assert [str(m.content) for m in found["messages"] if m.type == "tool"] == ["one is fine", "two is fine"]
    run(graph, "sure?")
    assert home.server.faults == []
    assert len(home.server.requests) == 3


def test_reminders_go_in_place_or_as_tagged_user_messages(home: Home, run_twice: Run) -> None:
    home.server.answer(Said("", calls=(PLAN,)), Said("One."), Said("Two."))
    graph = agent(home)
    run_twice(graph, "go")
    run_twice(graph, "go on")
    last = home.spoken[-1]
    assert texts(last)[-1].startswith("<system-reminder>")
    assert "[ ] (1) write the docs" in texts(last)[-1]
    assert last["role"] == ("system" if home.name in IN_PLACE else "user")
    assert home.server.faults == []


def test_the_system_prompt_stands_where_the_house_wants_it_and_nowhere_else(home: Home, run_twice: Run) -> None:
    home.server.answer(Said("Yes."))
    run_twice(agent(home), "go")
    body = home.server.requests[-1]
    beside = body.get("system") or body.get("systemInstruction")
    assert (roles(home)[0] == "system") == (beside is None)
    assert texts(beside if beside is not None else home.spoken[0]) == ["Be careful."]


def test_a_call_that_was_cut_off_has_its_result(home: Home, run_twice: Run) -> None:
    home.server.answer(Said("Yes."))
    cut_off = AIMessage("", tool_calls=[call("look", "c1", at="one"), call("look", "c2", at="two")])
    run_twice(agent(home), {"messages": [HumanMessage("go"), cut_off, HumanMessage("and?")]})
    assert home.server.faults == []


def test_an_image_in_a_result_arrives_as_an_image(home: Home, run_twice: Run) -> None:
    home.server.answer(Said("", calls=(("photograph", {}), ("look", {"at": "one"}))), Said("A dot."))
    run_twice(agent(home), "take a picture")
    assert home.server.faults == []
    assert "iVBORw0KGgo" in str(home.spoken[2:])
    assert (roles(home)[-1] == "user") == (home.name in ("anthropic", "gemini", "gemini 3", "chat"))


def test_a_compacted_history_is_taken(home: Home, run_twice: Run) -> None:
    """The summary and what was rebuilt are system messages in the history; the tail may begin with an answer."""
    home.server.answer(
        Said("word " * 700, thinking="Hm."), Said("", calls=(("write_summary", {"text": SUMMARY}),)), Said("On.")
    )
    graph = agent(home, compaction=CONFIG)
    run_twice(graph, "tell me")
    run_twice(graph, "go on")
    assert home.server.faults == []
    assert len(home.server.requests) == 3
    assert "active task" in str(home.server.requests[-1])
    assert not any(len(text) > 3_000 for text in texts(home.spoken))


def test_a_cut_inside_a_turn_is_taken(home: Home, run_twice: Run) -> None:
    """Nothing but a summary stands before an assistant message with calls."""
    summary = SystemMessage("So far.", id="s", additional_kwargs={"source": "compaction_summary"})
    asking = AIMessage("", tool_calls=[call("look", "c1", at="one")])
    result = ToolMessage("fine", tool_call_id="c1")
    home.server.answer(Said("Done."))
    run_twice(agent(home, compaction=None), {"messages": [summary, asking, result]})
    assert home.server.faults == []


@pytest.mark.parametrize("role", ["user", "system"])
def test_a_strict_chat_template_takes_what_system_role_user_sends(role: Literal["user", "system"]) -> None:
    with HouseServer(ChatHouse(system_first=True)) as server:
        server.answer(Said("", calls=(PLAN,)), Said("One."), Said("Two."))
        graph = agent(Home("chat", server, KINDS["chat"][1](server.url)), system_role=role)
        ask_sync(graph, "go")
        if role == "user":
            assert ask_sync(graph, "go on")["messages"][-1].content == "Two."
        else:
            with pytest.raises(Exception, match="System message must be at the beginning"):
                ask_sync(graph, "go on")
