"""What an assistant of a server may choose for its runs: thresholds and a folder, checked when a run reads them.

The graph stays one; each of its nodes steps aside for the same node of an agent that was built for the
run's context. All of them have the same nodes, edges and channels, so that a thread can go from one to the
other.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph._internal._runnable import RunnableCallable  # sync and async in one node
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field

from longthread.nodes.settings import CompactionConfig
from longthread.tools.errors import SettingsError, WorkspaceError
from longthread.tools.workspace import Workspace

SMALLEST_THRESHOLD = 3_000
"""In tokens; `CompactionConfig.for_context_window` has it for its smallest window."""
KEPT = 64
"""Agents that are kept built, the last used."""
Builder = StateGraph[Any, Any, Any, Any]
Nodes = Mapping[str, Runnable[Any, Any]]


class AgentContext(BaseModel):
    """The `context` of an assistant or a run. What it leaves out is as the server's owner set it.

    A server keeps it with the thread: no place for secrets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    compact_threshold: int | None = Field(default=None, ge=SMALLEST_THRESHOLD)
    """Tokens above which to compact after an answer. With one threshold given, the other is off unless given too."""
    compact_request_threshold: int | None = Field(default=None, ge=SMALLEST_THRESHOLD)
    """Tokens above which to compact before a request."""
    workspace: str | None = None
    """A folder below the one that the server's owner set."""


_BUDGETS = (
    "retained_tokens",
    "auto_read_budget",
    "prune_protected_tokens",
    "prune_min_savings",
    "summary_max_tokens",
    "pinned_user_tokens",
)


def config_for(context: AgentContext, base: CompactionConfig) -> CompactionConfig:
    """The settings with the thresholds of the context; budgets that would not fit below them shrink.

    Raises:
        SettingsError: thresholds that cannot work.
    """
    asked = context.model_dump(include={"compact_threshold", "compact_request_threshold"})
    given = [threshold for threshold in asked.values() if threshold is not None]
    if not given:
        return base
    scaled = CompactionConfig.for_context_window(min(given) * 4 // 3)
    budgets = {name: min(getattr(base, name), getattr(scaled, name)) for name in _BUDGETS}
    config = base.model_copy(update=budgets | asked)
    config.check()
    return config


def folder_for(context: AgentContext, root: str | None) -> str | None:
    """The workspace of the context: a folder below `root`, or `root` itself.

    Raises:
        SettingsError: the folder lies outside, is none, or there is no `root`.
    """
    if context.workspace is None:
        return root
    if root is None:
        raise _unusable(context, "this server has no workspace; its owner sets one with LONGTHREAD_WORKSPACE")
    below = Workspace(root)
    try:
        inside = below.relative(context.workspace)
        is_folder = below.kind(inside) == "folder"
    except WorkspaceError as error:
        raise _unusable(context, str(error)) from error
    if not is_folder:
        raise _unusable(context, "there is no such folder below this server's workspace; create it first")
    return str(below.root / inside)


def _unusable(context: AgentContext, why: str) -> SettingsError:
    return SettingsError(f"workspace={context.workspace!r} in the context cannot be used: {why}")


def by_context(build: Callable[[AgentContext], Builder]) -> Builder:
    """The agent that `build` makes of an empty context, whose runs are those of what it makes of theirs."""

    @lru_cache(KEPT)
    def nodes_for(context: AgentContext) -> Nodes:
        return {name: cast("Runnable[Any, Any]", spec.runnable) for name, spec in build(context).nodes.items()}

    builder, usual = build(AgentContext()), nodes_for(AgentContext())
    for name, spec in builder.nodes.items():
        builder.nodes[name] = replace(spec, runnable=_stand_in(name, usual[name], nodes_for))
    return builder


def _stand_in(name: str, usual: Runnable[Any, Any], nodes_for: Callable[[AgentContext], Nodes]) -> RunnableCallable:
    """The node that is meant by the run's context. It holds the usual one, in which LangGraph finds the subgraph."""

    def node(state: Any, config: RunnableConfig, runtime: Runtime[AgentContext | None]) -> Any:
        chosen = nodes_for(runtime.context)[name] if runtime.context else usual
        return chosen.invoke(state, config)

    # Building looks at folders: not on the event loop.
    async def anode(state: Any, config: RunnableConfig, runtime: Runtime[AgentContext | None]) -> Any:
        chosen = (await asyncio.to_thread(nodes_for, runtime.context))[name] if runtime.context else usual
        return await chosen.ainvoke(state, config)

    return RunnableCallable(node, anode, name=name, trace=False)
