"""Agents that compact at a small scale: what their worker writes, and what is seen of a compaction."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import RetryPolicy

from agents import as_input, thread
from longthread.graph import CompactionConfig, ScriptedChatModel, create_agent
from longthread.graph.scripted import Script, call, say
from longthread.nodes.refusals import is_transient

Graph = CompiledStateGraph[Any, Any, Any, Any]
AT_ONCE = RetryPolicy(initial_interval=0.001, max_attempts=4, jitter=False, retry_on=is_transient)
"""As often as by default, without the waiting."""
SECTIONS = ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
SCALE = {
    "retained_tokens": 200,
    "auto_read_budget": 100,
    "summary_max_tokens": 150,
    "pinned_user_tokens": 100,
    "prune_protected_tokens": 10_000,
    "prune_min_savings": 50,
}
"""Budgets that fit below thresholds of 800 and 900 tokens; nothing is pruned."""


def summary(text: str = "nothing of note", **sections: str) -> str:
    """A valid summary: `text` in every section, or what is given for one (`active_task="…"`)."""
    return "\n\n".join(f"## {name}\n{sections.get(name.lower().replace(' ', '_'), text)}" for name in SECTIONS)


SUMMARY = summary()


def small(**changes: Any) -> CompactionConfig:
    """Settings for a window of about a thousand tokens."""
    return CompactionConfig(**{**SCALE, **changes})


def words(n: int, word: str = "word") -> str:
    """About n tokens of text."""
    return " ".join([word[:3]] * n)


@tool
def look(tokens: int, fails: bool = False) -> str:
    """Look at something that is that long."""
    if fails:
        raise ValueError(f"looking at {tokens} failed")
    return words(tokens, "see")


def looks(n: int, tokens: int = 50) -> list[ToolCall]:
    """Steps of a model that looks n times, one after the other."""
    return [call("look", tokens=tokens) for _ in range(n)]


def writes(text: str = SUMMARY, *calls: ToolCall) -> AIMessage:
    """What a worker says that writes its summary, after the other calls of the message."""
    return say("", *calls, call("write_summary", text=text))


def worker(*steps: Any, script: Script | None = None, **settings: Any) -> ScriptedChatModel:
    """The worker's model: these steps, and then the same summary for ever."""

    def after(made: int) -> Any:
        return steps[made] if made < len(steps) else writes()

    counted = iter(range(10_000))
    return ScriptedChatModel(script or (lambda request: _made(after(next(counted)), request)), prefix="w", **settings)


def _made(step: Any, request: list[BaseMessage]) -> Any:
    if isinstance(step, BaseException):
        raise step
    return step(request) if callable(step) and not isinstance(step, type) else step


def agent(
    steps: Sequence[Any] | Callable[..., Any] | ScriptedChatModel,
    compaction: CompactionConfig | Literal["auto"] | None,
    by: ScriptedChatModel | None = None,
    tools: Sequence[Any] = (look,),
    **options: Any,
) -> Graph:
    """An agent whose model follows `steps`, with transient errors tried again at once."""
    model = steps if isinstance(steps, ScriptedChatModel) else ScriptedChatModel(steps)
    options = {"retry": AT_ONCE, "worker_model": by or worker(), **options}
    return create_agent(model, tools, compaction=compaction, **options)


def events(graph: Graph, given: Any, config: RunnableConfig | None = None, **options: Any) -> list[dict[str, Any]]:
    """The custom events of a run; a string is a user message."""
    return [*graph.stream(as_input(given), config or thread(), stream_mode="custom", **options)]


def async_events(graph: Graph, given: Any, config: RunnableConfig | None = None) -> list[dict[str, Any]]:
    """The same, by `astream` in a loop of its own."""

    async def run() -> list[dict[str, Any]]:
        return [event async for event in graph.astream(as_input(given), config or thread(), stream_mode="custom")]

    return asyncio.run(run())


def names(found: Sequence[dict[str, Any]]) -> list[str]:
    """The events' names, without those of reminders and pruning."""
    return [event["event"] for event in found if event["event"].startswith("compact")]


def values(graph: Graph, config: RunnableConfig | None = None) -> dict[str, Any]:
    """The thread's state."""
    found: dict[str, Any] = graph.get_state(config or thread()).values
    return found


def sources(messages: Sequence[AnyMessage]) -> list[str]:
    """What the graph put in, in its order, or the type of what it did not."""
    return [str(message.additional_kwargs.get("source", message.type)) for message in messages]


def files(folder: Path, **texts: str) -> Path:
    """A workspace with these files, by name without ending."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return folder
