"""From a setup to a graph."""

from importlib.resources import files
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver

from longthread.graph.agent import create_agent
from longthread.graph.cli.options import Setup
from longthread.graph.models import resolve_model
from longthread.graph.parts import resolve_compaction
from longthread.graph.settings import load_settings
from longthread.graph.threads import Graph
from longthread.nodes.settings import CompactionConfig, Settings


def system_prompt() -> str:
    """What the command line's agent is told."""
    return files(__package__).joinpath("prompt.md").read_text(encoding="utf-8")


def build(setup: Setup, saver: BaseCheckpointSaver[Any]) -> tuple[Graph, CompactionConfig]:
    """The graph, and the compaction settings in force.

    Raises:
        LongthreadError: a model, a workspace or settings that cannot be used.
    """
    settings = load_settings(setup.settings) if setup.settings else Settings()
    model = resolve_model(setup.model, base_url=setup.base_url)
    compaction = compaction_for(setup.context_window, settings.compaction, model)
    graph = create_agent(
        model,
        system_prompt=system_prompt(),
        workspace=setup.workspace,
        compaction=compaction,
        reminders=settings.reminders,
        max_requests=setup.max_requests,
        allow_commands=setup.allow_commands,
        checkpointer=saver,
    )
    return graph, compaction


def compaction_for(window: int | None, wanted: CompactionConfig, model: BaseChatModel) -> CompactionConfig:
    """What fits the window (`--context-window`, else the model's own), with what the settings file names itself."""
    base = CompactionConfig.for_context_window(window) if window else resolve_compaction("auto", model)
    assert base is not None
    return base.model_copy(update={name: getattr(wanted, name) for name in wanted.model_fields_set})
