"""The module-level graph for a LangGraph server: `longthread.graph.studio:graph` in `langgraph.json`.

The environment says what it works with. When the server starts, it reads

- `LONGTHREAD_MODEL`, by default `openai:gpt-5-mini`,
- `LONGTHREAD_WORKSPACE`, a folder for the file tools; without it there are none,
- `LONGTHREAD_ALLOW_COMMANDS`, whether there is `run_command`: `never` (the default), `ask` or `always`;

and at the first request `OPENAI_API_KEY` or `OPENAI_BASE_URL`. An assistant sets thresholds and a folder
below the workspace in its `context`: see `AgentContext`.
"""

import os
from typing import Any, get_args

from langchain_core.language_models import BaseChatModel
from langgraph.graph import StateGraph

from longthread.graph.agent import build_agent
from longthread.graph.context import AgentContext, by_context, config_for, folder_for
from longthread.graph.deferred import DeferredChatModel
from longthread.graph.models import resolve_model
from longthread.graph.parts import AUTO_THRESHOLDS
from longthread.tools.errors import SettingsError
from longthread.tools.workspace_tools import AllowCommands

NAME = os.environ.get("LONGTHREAD_MODEL") or "openai:gpt-5-mini"
ROOT = os.environ.get("LONGTHREAD_WORKSPACE") or None
COMMANDS = os.environ.get("LONGTHREAD_ALLOW_COMMANDS") or "never"


def _model() -> BaseChatModel:
    return resolve_model(NAME)


_deferred = DeferredChatModel(_model, named=NAME, name=NAME)


def _commands() -> AllowCommands:
    for known in get_args(AllowCommands):
        if known == COMMANDS:
            return known  # type: ignore[no-any-return]  # one of the literal's own
    raise SettingsError(f"LONGTHREAD_ALLOW_COMMANDS={COMMANDS!r} is none of {', '.join(get_args(AllowCommands))}")


def _agent(context: AgentContext) -> StateGraph[Any, Any, Any, Any]:
    return build_agent(
        _deferred,
        workspace=folder_for(context, ROOT),
        compaction=config_for(context, AUTO_THRESHOLDS),
        context_schema=AgentContext,
        allow_commands=_commands(),
    )


graph = by_context(_agent).compile(name="longthread")
