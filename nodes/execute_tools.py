"""One tool call: run, then made fit for the history.

One task per call, so that a finished call never runs again; `call_order` says which run when.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest

from longthread.nodes.answers import CUT_OFF, MALFORMED
from longthread.nodes.handoff import as_first, with_every_result
from longthread.nodes.results import Finisher
from longthread.tools.text import one_line

_CUT_OFF_TEXT = (
    "Error: the answer was cut off by the output limit inside this call, so nothing was run. "
    "Send a smaller call: long content in several parts."
)
Result = Any
"""A message, a command, or a list of both, as `ToolNode` takes them."""


def make_execute_tools(tools: Sequence[BaseTool], finisher: Finisher) -> ToolNode:
    """The node: takes `[call]` from a `Send` and writes its result."""

    def run(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Result]) -> Result:
        if MALFORMED in request.tool_call["args"]:
            return finisher.finish(_malformed(request.tool_call), request)
        try:
            result = with_every_result(execute(as_first(request)), request)
        except asyncio.CancelledError:
            result = _cancelled(request.tool_call)
        return finisher.finish(result, request)

    async def arun(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Result]]) -> Result:
        if MALFORMED in request.tool_call["args"]:
            return await asyncio.to_thread(finisher.finish, _malformed(request.tool_call), request)
        try:
            result = with_every_result(await execute(as_first(request)), request)
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
    text = f"Error: the arguments were not a JSON object, so nothing was run: {raw!r}. Send the call again, complete."
    if call["args"].get(CUT_OFF):
        text = _CUT_OFF_TEXT
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
        return _run(coroutine(*args, **kwargs))  # type: ignore[arg-type]  # a coroutine function by contract

    return tool.model_copy(update={"func": func})


def _run(made: Coroutine[Any, Any, Any]) -> Any:
    """The coroutine's result; in a thread of its own where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(made)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, made).result()
