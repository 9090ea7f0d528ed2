"""The options of an agent, checked one by one before anything is made of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from langchain_core.tools import BaseTool

from longthread.nodes.settings import ReminderConfig, SystemRole
from longthread.tools.errors import SettingsError
from longthread.tools.tracker import Action
from longthread.tools.workspace_tools import AllowCommands

Rule = tuple[Callable[[Any], bool], str]


def _one_of(literal: Any) -> Rule:
    allowed = get_args(literal)
    return lambda value: isinstance(value, str) and value in allowed, f"must be one of {', '.join(map(repr, allowed))}"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and not set(value) & set(":|")


RULES: Mapping[str, Rule] = {
    "allow_commands": _one_of(AllowCommands),
    "system_role": _one_of(SystemRole),
    "system_prompt": (lambda v: v is None or isinstance(v, str), "must be a text, or None for no prompt"),
    "reminders": (lambda v: isinstance(v, ReminderConfig), "must be a ReminderConfig; leave it out for the defaults"),
    "name": (_is_name, "must be a text that is not empty and has no ':' or '|', which LangGraph keeps for itself"),
    "max_requests": (lambda v: v is None or _is_count(v), "must be a whole number of at least 1, or None for no limit"),
    "max_result_tokens": (_is_count, "must be a whole number of at least 1"),
    "never_pruned": (lambda v: _is_list(v) or isinstance(v, set | frozenset), "must be a list of tool names"),
    "tracked_tools": (lambda v: v is None or isinstance(v, Mapping), "must map tool names to their path arguments"),
    "tools": (_is_list, "must be a list of tools; put a single one into a list"),
}


def check_options(options: Mapping[str, Any]) -> None:
    """Raise `SettingsError` for the first option that is given and cannot work by itself."""
    for name, (holds, rule) in RULES.items():
        if name in options and not holds(options[name]):
            raise SettingsError(f"{name}={options[name]!r} {rule}")
    for item in options.get("tools", ()):
        if not isinstance(item, BaseTool) and not callable(item):
            raise SettingsError(f"tools has {item!r}, which is neither a tool nor a function; decorate one with @tool")


def check_names(kit: Sequence[BaseTool], options: Mapping[str, Any]) -> None:
    """Raise `SettingsError` where `never_pruned` or `tracked_tools` speak of what the tools do not have."""
    tools = {tool.name: tool for tool in kit}
    for option in ("never_pruned", "tracked_tools"):
        for name in options.get(option) or ():
            if name not in tools:
                raise SettingsError(f"{option} names {name!r}, which is no tool; the tools are {', '.join(tools)}")
    for name, spec in (options.get("tracked_tools") or {}).items():
        _check_tracked(tools[name], spec)


def _check_tracked(tool: BaseTool, spec: object) -> None:
    given = f"tracked_tools[{tool.name!r}]={spec!r}"
    pair = (spec, "read") if isinstance(spec, str) else spec
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise SettingsError(f"{given} must be the path argument, or a pair (argument, action)")
    argument, action = pair
    if action not in get_args(Action):
        raise SettingsError(f"{given} has the action {action!r}; use one of {', '.join(map(repr, get_args(Action)))}")
    if argument not in tool.args:
        raise SettingsError(f"{given} names no argument of the tool; it has {', '.join(tool.args) or 'none'}")
