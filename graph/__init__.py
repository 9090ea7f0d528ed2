"""longthread: a LangGraph agent graph for long work.

What a user imports is here. Nothing is loaded before it is used, no provider's package among it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longthread.graph.agent import build_agent, create_agent
    from longthread.graph.deferred import DeferredChatModel
    from longthread.graph.exchange import export_thread, import_thread
    from longthread.graph.lineage import fork, reopen, transcript
    from longthread.graph.locks import thread_lock
    from longthread.graph.models import resolve_model
    from longthread.graph.node import as_node
    from longthread.graph.rehearsal import dry_run
    from longthread.graph.rehearsal_report import DryRun
    from longthread.graph.retention import prune_thread
    from longthread.graph.savers import open_saver
    from longthread.graph.scripted import ScriptedChatModel
    from longthread.graph.settings import load_settings
    from longthread.graph.threads import describe, list_threads
    from longthread.nodes.settings import CompactionConfig, ReminderConfig, Settings
    from longthread.nodes.state import AgentState
    from longthread.tools.errors import (
        ContextRefused,
        LongthreadError,
        ModelError,
        ModelNotFound,
        RequestLimitReached,
        SettingsError,
        StaleRun,
        StoreUnusable,
        ThreadBusy,
        ThreadError,
        ThreadNotFound,
        ThreadTooNew,
        WorkspaceError,
    )
    from longthread.tools.todo import replay_todos

_HOMES = {
    "AgentState": "longthread.nodes.state",
    "CompactionConfig": "longthread.nodes.settings",
    "ContextRefused": "longthread.tools.errors",
    "DeferredChatModel": "longthread.graph.deferred",
    "DryRun": "longthread.graph.rehearsal_report",
    "LongthreadError": "longthread.tools.errors",
    "ModelError": "longthread.tools.errors",
    "ModelNotFound": "longthread.tools.errors",
    "ReminderConfig": "longthread.nodes.settings",
    "RequestLimitReached": "longthread.tools.errors",
    "ScriptedChatModel": "longthread.graph.scripted",
    "Settings": "longthread.nodes.settings",
    "SettingsError": "longthread.tools.errors",
    "StaleRun": "longthread.tools.errors",
    "StoreUnusable": "longthread.tools.errors",
    "ThreadBusy": "longthread.tools.errors",
    "ThreadError": "longthread.tools.errors",
    "ThreadNotFound": "longthread.tools.errors",
    "ThreadTooNew": "longthread.tools.errors",
    "WorkspaceError": "longthread.tools.errors",
    "as_node": "longthread.graph.node",
    "build_agent": "longthread.graph.agent",
    "create_agent": "longthread.graph.agent",
    "describe": "longthread.graph.threads",
    "dry_run": "longthread.graph.rehearsal",
    "export_thread": "longthread.graph.exchange",
    "fork": "longthread.graph.lineage",
    "import_thread": "longthread.graph.exchange",
    "list_threads": "longthread.graph.threads",
    "load_settings": "longthread.graph.settings",
    "open_saver": "longthread.graph.savers",
    "prune_thread": "longthread.graph.retention",
    "reopen": "longthread.graph.lineage",
    "replay_todos": "longthread.tools.todo",
    "resolve_model": "longthread.graph.models",
    "thread_lock": "longthread.graph.locks",
    "transcript": "longthread.graph.lineage",
}

__all__ = [
    "AgentState",
    "CompactionConfig",
    "ContextRefused",
    "DeferredChatModel",
    "DryRun",
    "LongthreadError",
    "ModelError",
    "ModelNotFound",
    "ReminderConfig",
    "RequestLimitReached",
    "ScriptedChatModel",
    "Settings",
    "SettingsError",
    "StaleRun",
    "StoreUnusable",
    "ThreadBusy",
    "ThreadError",
    "ThreadNotFound",
    "ThreadTooNew",
    "WorkspaceError",
    "as_node",
    "build_agent",
    "create_agent",
    "describe",
    "dry_run",
    "export_thread",
    "fork",
    "import_thread",
    "list_threads",
    "load_settings",
    "open_saver",
    "prune_thread",
    "reopen",
    "replay_todos",
    "resolve_model",
    "thread_lock",
    "transcript",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
