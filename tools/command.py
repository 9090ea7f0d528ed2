"""The tool that runs shell commands in the workspace, with the user's approval unless told otherwise."""

import asyncio
import threading
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime

from longthread.tools.approval import InvalidDecision, Rejected, ask
from longthread.tools.environment import command_environment
from longthread.tools.errors import WorkspaceError
from longthread.tools.process import Outcome, run
from longthread.tools.text import one_line
from longthread.tools.workspace import Workspace

RUN_COMMAND = "run_command"
MAX_COMMAND_BYTES = 100_000
MAX_SECONDS = 600.0
Approval = Literal["ask", "always"]
Runtime = ToolRuntime[Any, Any]


@dataclass(frozen=True)
class Order:
    """What to run, and for how many seconds at most."""

    command: str
    timeout: float
    edited: bool = False
    """The user changed what the model asked for."""


def check_order(command: object, timeout: object, *, edited: bool = False) -> Order:
    """The order, if it can be run.

    Raises:
        WorkspaceError: an empty or overlong command, a NUL in it, a time limit that is none.
    """
    if not isinstance(command, str) or not command.strip():
        raise WorkspaceError(f"command {command!r} is empty; give a shell command")
    if "\0" in command or len(command.encode(errors="replace")) > MAX_COMMAND_BYTES:
        raise WorkspaceError(f"a command must have no NUL and at most {MAX_COMMAND_BYTES} bytes; use a script file")
    if not isinstance(timeout, int | float) or not 0 < timeout <= MAX_SECONDS:
        raise WorkspaceError(f"timeout={timeout!r} must be above 0 and at most {MAX_SECONDS:g} seconds")
    return Order(command, timeout, edited)


def command_tool(workspace: Workspace, approval: Approval = "ask", timeout: float = 120) -> BaseTool:
    """`run_command` for one workspace; `timeout` is in seconds, and what a call gets that names none.

    With `"ask"` every command raises an interrupt first (see `approval`). Commands get the
    process's environment without secrets (see `environment`), and no input.
    """

    default = timeout

    def run_command(command: str, runtime: Runtime, timeout: int | None = None) -> ToolMessage:
        try:
            order = _approved(approval, check_order(command, timeout or default))
        except (Rejected, InvalidDecision) as refusal:
            return _refused(refusal, command, runtime)
        return _result(order, _run(workspace, order, threading.Event()), runtime)

    async def arun_command(
        command: str,
        runtime: Runtime,
        timeout: int | None = None,  # noqa: ASYNC109  # An argument of the model, for the process.
    ) -> ToolMessage:
        try:
            order = _approved(approval, check_order(command, timeout or default))
        except (Rejected, InvalidDecision) as refusal:
            return _refused(refusal, command, runtime)
        return _result(order, await _arun(workspace, order), runtime)

    return StructuredTool.from_function(
        run_command,
        arun_command,
        name=RUN_COMMAND,
        description="Run a shell command in the workspace, without input: tests, builds, git. What it started ends "
        f"with it. Not to read, search or edit files. timeout: seconds, {default:g} if left out.",
        metadata={"mutates": True},
    )


def _approved(approval: Approval, order: Order) -> Order:
    if approval == "always":
        return order
    asked = {"command": order.command, "timeout": order.timeout}
    args = ask(RUN_COMMAND, asked, f"Run in the workspace, for at most {order.timeout:g} s:\n{order.command}")
    edited = {**asked, **args} != asked
    timeout = args.get("timeout")
    return check_order(args.get("command"), order.timeout if timeout is None else timeout, edited=edited)


def _run(workspace: Workspace, order: Order, stop: threading.Event) -> Outcome:
    try:
        return run(order.command, workspace.root, command_environment(), order.timeout, stop)
    except OSError as error:
        raise WorkspaceError(f"the shell cannot be started in {str(workspace.root)!r}: {error.strerror}") from error


async def _arun(workspace: Workspace, order: Order) -> Outcome:
    """In a thread; a cancellation goes on when the command's group is gone."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(_run, workspace, order, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([task])
        raise


def _result(order: Order, outcome: Outcome, runtime: Runtime) -> ToolMessage:
    ending = _ending(order, outcome)
    changed = f"The user changed the command; this was run: {order.command}\n" if order.edited else ""
    content = f"{changed}{ending}\n{outcome.output.rstrip() or '(no output)'}"
    return _message(content, f"ran {_quoted(order.command)}: {ending}", runtime, failed=outcome.code != 0)


def _ending(order: Order, outcome: Outcome) -> str:
    if outcome.late:
        return f"stopped by the time limit of {order.timeout:g} s"
    return "stopped before it finished" if outcome.code is None else f"exit code {outcome.code}"


def _refused(refusal: Rejected | InvalidDecision, command: str, runtime: Runtime) -> ToolMessage:
    if isinstance(refusal, Rejected):
        said = f": {refusal}" if str(refusal) else ""
        content = f"The user rejected this command{said}. It was not run; do not run it again unless asked to."
    else:
        content = f"Error: the command was not run, because its approval was not understood: {refusal}"
    return _message(content, f"not run, {_quoted(command)}: {content}", runtime, failed=True)


def _quoted(command: str) -> str:
    return f"`{one_line(command, 100)}`"


def _message(content: str, summary: str, runtime: Runtime, *, failed: bool) -> ToolMessage:
    return ToolMessage(
        content,
        name=RUN_COMMAND,
        tool_call_id=runtime.tool_call_id or "",
        status="error" if failed else "success",
        additional_kwargs={"summary": one_line(summary, 300)},
    )
