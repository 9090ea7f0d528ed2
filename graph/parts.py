"""What an agent is made of, resolved and checked before anything is wired."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.types import RetryPolicy

from longthread.graph.checks import check_names, check_options
from longthread.graph.models import (
    context_window,
    model_name_of,
    provider_of,
    resolve_model,
    takes_cache_marks,
    takes_images_of_users_only,
    takes_system_anywhere,
)
from longthread.nodes.history.weights import TokenMeter
from longthread.nodes.requests import Requests
from longthread.nodes.results import Finisher, Tracked
from longthread.nodes.settings import CompactionConfig, ReminderConfig, SystemRole
from longthread.tools.errors import SettingsError
from longthread.tools.todo import todo_write
from longthread.tools.tokens import count_schemas, count_text
from longthread.tools.workspace import Workspace
from longthread.tools.workspace_tools import workspace_tools

AUTO_THRESHOLDS = CompactionConfig(compact_threshold=80_000, compact_request_threshold=90_000)
"""Used by `compaction="auto"` for a model that does not say how large its window is."""


class AgentOptions(TypedDict, total=False):
    """The keyword arguments of `build_agent`; see there."""

    system_prompt: str | None
    workspace: str | Path | None
    compaction: CompactionConfig | Literal["auto"] | None
    reminders: ReminderConfig
    worker_model: BaseChatModel | str | None
    tracked_tools: Tracked | None
    max_requests: int | None
    state_schema: type[Any] | None
    context_schema: type[Any] | None
    allow_commands: Literal["ask", "always", "never"]
    max_result_tokens: int
    system_role: SystemRole
    never_pruned: Sequence[str]
    retry: RetryPolicy | None
    name: str


@dataclass(frozen=True)
class AgentParts:
    """The resolved parts."""

    model: BaseChatModel
    worker_model: BaseChatModel
    tools: list[BaseTool]
    workspace: Workspace | None
    compaction: CompactionConfig | None
    requests: Requests
    finisher: Finisher
    name: str


def assemble(model: BaseChatModel | str, tools: Sequence[Any], options: AgentOptions) -> AgentParts:
    """The parts of an agent.

    Raises:
        SettingsError, ModelError, WorkspaceError: an option that cannot work, with the way out.
    """
    check_options({**options, "tools": tools})
    chat = resolve_model(model)
    worker = options.get("worker_model")
    folder = options.get("workspace")
    workspace = Workspace(folder) if folder is not None else None
    kit = all_tools(tools, folder, options)
    check_names(kit, options)
    return AgentParts(
        model=chat,
        worker_model=resolve_model(worker) if worker is not None else chat,
        tools=kit,
        workspace=workspace,
        compaction=resolve_compaction(options.get("compaction", "auto"), chat),
        requests=_requests(chat, kit, options),
        finisher=Finisher(options.get("max_result_tokens", 10_000), options.get("tracked_tools") or {}, workspace),
        name=options.get("name", "longthread"),
    )


def all_tools(tools: Sequence[Any], folder: str | Path | None, options: AgentOptions) -> list[BaseTool]:
    """`todo_write`, the workspace's tools, and the user's own.

    Raises:
        SettingsError: two tools of one name.
    """
    allowed, limit = options.get("allow_commands", "never"), options.get("max_result_tokens", 10_000)
    own = [item if isinstance(item, BaseTool) else as_tool(item) for item in tools]
    files = workspace_tools(folder, allow_commands=allowed, max_result_tokens=limit) if folder is not None else []
    kit = [todo_write, *files, *own]
    names = [item.name for item in kit]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise SettingsError(f"two tools are named {', '.join(map(repr, repeated))}; rename your own")
    return kit


def resolve_compaction(wanted: CompactionConfig | str | None, model: BaseChatModel) -> CompactionConfig | None:
    """The settings, checked; `"auto"` follows the model's window.

    Raises:
        SettingsError: budgets that do not fit below a threshold, or a value of another kind.
    """
    if wanted == "auto":
        window = context_window(model)
        wanted = CompactionConfig.for_context_window(window) if window else AUTO_THRESHOLDS
    if wanted is None:
        return None
    if not isinstance(wanted, CompactionConfig):
        raise SettingsError(f"compaction={wanted!r} is neither a CompactionConfig nor 'auto' nor None")
    wanted.check()
    return wanted


def _requests(model: BaseChatModel, kit: Sequence[BaseTool], options: AgentOptions) -> Requests:
    prompt, role = options.get("system_prompt"), options.get("system_role", "auto")
    if role == "auto":
        role = "system" if takes_system_anywhere(model) else "user"
    fixed = count_schemas([convert_to_openai_tool(item) for item in kit]) + count_text(prompt or "")
    name, never_pruned = options.get("name", "longthread"), frozenset(options.get("never_pruned", ()))
    return Requests(
        system_prompt=prompt,
        system_role=role,
        meter=TokenMeter(fixed, model_name_of(model), keep=never_pruned, agent=name),
        never_pruned=never_pruned,
        name=name,
        provider=provider_of(model),
        user_images=takes_images_of_users_only(model),
        cache_marks=takes_cache_marks(model),
    )
