"""Running an agent in a test: sync or async on a named thread, and looking at what it left."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import RetryPolicy

from longthread.graph.scripted import call
from longthread.nodes.refusals import is_transient

Graph = CompiledStateGraph[Any, Any, Any, Any]
Ask = Callable[..., dict[str, Any]]
AT_ONCE = RetryPolicy(initial_interval=0.001, backoff_factor=1.0, jitter=False, retry_on=is_transient)
"""The default's way of trying again, without its waiting."""


def thread(name: str = "t", **configurable: Any) -> RunnableConfig:
    """The config of a thread."""
    return {"configurable": {"thread_id": name, **configurable}}


def ask_sync(graph: Graph, given: Any, config: RunnableConfig | None = None, **options: Any) -> dict[str, Any]:
    """`invoke`; a string is a user message."""
    found: dict[str, Any] = graph.invoke(as_input(given), config or thread(), **options)
    return found


def ask_async(graph: Graph, given: Any, config: RunnableConfig | None = None, **options: Any) -> dict[str, Any]:
    """`ainvoke` in a loop of its own; a string is a user message."""
    found: dict[str, Any] = asyncio.run(graph.ainvoke(as_input(given), config or thread(), **options))
    return found


def as_input(given: Any) -> Any:
    return {"messages": [("user", given)]} if isinstance(given, str) else given


def history(graph: Graph, config: RunnableConfig | None = None) -> list[AnyMessage]:
    """The messages of a thread."""
    found: list[AnyMessage] = graph.get_state(config or thread()).values["messages"]
    return found


def results(messages: Sequence[AnyMessage]) -> list[str]:
    """The contents of all tool results."""
    return [str(message.content) for message in messages if isinstance(message, ToolMessage)]


def shape(messages: Sequence[AnyMessage]) -> list[Any]:
    """Type, content and calls of each message, without ids: what must be the same in two runs."""
    return [(m.type, m.content, _calls(m), getattr(m, "status", None)) for m in messages]


def _calls(message: AnyMessage) -> list[Any]:
    return [(c["name"], c["args"]) for c in message.tool_calls] if isinstance(message, AIMessage) else []


Status = Literal["pending", "in_progress", "completed"]


def todo(id: str = "1", content: str = "write the docs", status: Status = "pending") -> dict[str, str]:
    """One item."""
    return {"id": id, "content": content, "status": status}


def plan(*items: dict[str, str]) -> ToolCall:
    """A call of `todo_write`."""
    return call("todo_write", todos=list(items))


def reminders(messages: Sequence[AnyMessage]) -> list[int]:
    """Where the reminders stand."""
    return [n for n, m in enumerate(messages) if m.additional_kwargs.get("source") == "todo_reminder"]
