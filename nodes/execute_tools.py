"""One tool call: run, then made fit for the history.

One task per call, so that a finished call never runs again. Calls that change things are
barriers: they run alone and in call order, the others between them side by side.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest

from longthread.nodes.answers import MALFORMED
from longthread.nodes.history.speakers import is_users, source_of
from longthread.nodes.results import Finisher
from longthread.tools.text import one_line

Result = Any
"""A message, a command, or a list of both, as `ToolNode` takes them."""


def make_execute_tools(tools: Sequence[BaseTool], finisher: Finisher) -> ToolNode:
    """The node: takes `[call]` from a `Send` and writes its result."""

    def run(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Result]) -> Result:
        if MALFORMED in request.tool_call["args"]:
            return finisher.finish(_malformed(request.tool_call), request)
        try:
            result = execute(request)
        except asyncio.CancelledError:
            result = _cancelled(request.tool_call)
        return finisher.finish(result, request)

    async def arun(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Result]]) -> Result:
        if MALFORMED in request.tool_call["args"]:
            return await asyncio.to_thread(finisher.finish, _malformed(request.tool_call), request)
        try:
            result = await execute(request)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise  # the run itself is cancelled, not only something inside the tool
            result = _cancelled(request.tool_call)
        return await asyncio.to_thread(finisher.finish, result, request)

    return ToolNode(
        [with_sync(tool) for tool in tools],
        name="execute_tools",
        handle_tool_errors=describe,
        wrap_tool_call=run,
        awrap_tool_call=arun,
    )


def describe(error: Exception) -> str:
    """The error as the model reads it: what happened and that it may try another way."""
    text = str(error).strip() or type(error).__name__
    return text if text.startswith("Error") else f"Error: {text}"


def _malformed(call: ToolCall) -> ToolMessage:
    raw = one_line(str(call["args"][MALFORMED]), 300)
    text = f"Error: the arguments were not valid JSON, so nothing was run: {raw!r}. Send the call again, complete."
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")


def _cancelled(call: ToolCall) -> ToolMessage:
    text = "Error: the tool was cancelled before it finished; it may have taken effect. Check before you repeat it."
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")


def with_sync(tool: BaseTool) -> BaseTool:
    """The tool, able to run under a sync `invoke` even if it exists in async only."""
    if not isinstance(tool, StructuredTool) or tool.func is not None or tool.coroutine is None:
        return tool
    coroutine = tool.coroutine

    @wraps(coroutine)  # LangChain looks at the signature for parameters that it passes in
    def func(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(coroutine(*args, **kwargs))  # type: ignore[arg-type]  # a coroutine function by contract

    return tool.model_copy(update={"func": func})


def next_batch(messages: Sequence[AnyMessage], mutating: frozenset[str]) -> list[ToolCall]:
    """Calls of the newest assistant message that run next: those before the next change, or that change alone."""
    open_calls = unanswered(messages)
    changes = next((n for n, call in enumerate(open_calls) if call["name"] in mutating), len(open_calls))
    return open_calls[: max(changes, 1)]


def unanswered(messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """Calls of the newest assistant message that have no result yet, in call order.

    None after a user's message: whoever wrote over an unfinished run dropped its calls.
    """
    answered: set[str] = set()
    for message in reversed(messages):
        if is_users(message):
            return []
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage) and not source_of(message):
            return [call for call in message.tool_calls if call["id"] not in answered]
    return []


def mutating_tools(tools: Sequence[BaseTool], tracked: Mapping[str, str | tuple[str, str]]) -> frozenset[str]:
    """Names of the tools that change things: by their `metadata`, or tracked as written or edited."""
    marked = {tool.name for tool in tools if (tool.metadata or {}).get("mutates")}
    return frozenset(
        marked | {name for name, spec in tracked.items() if not isinstance(spec, str) and spec[1] != "read"}
    )
