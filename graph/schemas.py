"""What goes in and out of the graph, also for a state schema that a user extends."""

import types
from typing import Any, get_type_hints

from typing_extensions import TypedDict

from longthread.nodes.state import AgentInput, AgentOutput, AgentState
from longthread.tools.errors import SettingsError


def check_schema(schema: type[Any]) -> type[Any]:
    """The schema, if it has every key of `AgentState`.

    Raises:
        SettingsError: names the keys that are missing.
    """
    missing = sorted(set(AgentState.__annotations__) - set(get_type_hints(schema)))
    if missing:
        raise SettingsError(
            f"state_schema {schema.__name__!r} lacks {', '.join(missing)}; extend longthread.graph.AgentState"
        )
    return schema


def input_schema(schema: type[Any]) -> type[Any]:
    """What a caller may hand in: the agent's own keys and those that the schema adds."""
    return _extended("AgentInput", AgentInput, schema)


def output_schema(schema: type[Any]) -> type[Any]:
    """What a caller gets back: messages, todos, and the keys that the schema adds."""
    return _extended("AgentOutput", AgentOutput, schema)


def _extended(name: str, base: type[Any], schema: type[Any]) -> type[Any]:
    hints = get_type_hints(schema, include_extras=True)
    added = {key: hint for key, hint in hints.items() if key not in AgentState.__annotations__}
    if not added:
        return base
    keys = {**get_type_hints(base, include_extras=True), **added}
    return types.new_class(name, (TypedDict,), {}, lambda body: body.update(__annotations__=keys))
