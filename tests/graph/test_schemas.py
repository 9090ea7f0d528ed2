"""What goes in and out of the graph."""

import operator
from typing import Annotated, Any

import pytest
from langgraph.graph import MessagesState
from typing_extensions import TypedDict

from agents import Ask, plan, todo
from longthread.graph import AgentState, ScriptedChatModel, create_agent
from longthread.tools.errors import SettingsError


class WithKeys(AgentState):
    tenant: str
    visits: Annotated[int, operator.add]


def properties(schema: dict[str, Any]) -> set[str]:
    return set(schema.get("properties", {}))


def test_in_go_messages_todos_and_a_wish_to_compact() -> None:
    graph = create_agent(ScriptedChatModel([]))
    assert properties(graph.get_input_jsonschema()) == {"messages", "todos", "compact_request"}


def test_out_come_messages_and_todos(ask: Ask) -> None:
    graph = create_agent(ScriptedChatModel([plan(todo()), "Done."]))
    assert properties(graph.get_output_jsonschema()) == {"messages", "todos"}
    assert set(ask(graph, "go")) == {"messages", "todos"}


def test_keys_of_the_users_own_go_in_and_come_out(ask: Ask) -> None:
    graph = create_agent(ScriptedChatModel(["Done."]), state_schema=WithKeys)
    assert properties(graph.get_input_jsonschema()) == {"messages", "todos", "compact_request", "tenant", "visits"}
    found = ask(graph, {"messages": [("user", "go")], "tenant": "a", "visits": 2})
    assert set(found) == {"messages", "todos", "tenant", "visits"}
    assert (found["tenant"], found["visits"]) == ("a", 2)


def test_the_agents_inner_state_stays_inside(ask: Ask) -> None:
    found = ask(create_agent(ScriptedChatModel(["Done."])), {"messages": [("user", "go")], "occupancy": "forged"})
    assert "occupancy" not in found


class Empty(TypedDict):
    """Nothing."""


@pytest.mark.parametrize("schema", [MessagesState, Empty])
def test_a_schema_that_does_not_extend_the_agents_is_refused_with_the_keys_that_it_lacks(schema: Any) -> None:
    with pytest.raises(SettingsError, match=r"lacks .*compaction.*extend longthread\.graph\.AgentState"):
        create_agent(ScriptedChatModel([]), state_schema=schema)
