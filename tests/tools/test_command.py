import asyncio
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from longthread.tools.command import command_tool
from longthread.tools.environment import command_environment
from longthread.tools.errors import WorkspaceError
from longthread.tools.process import HEAD_BYTES, TAIL_BYTES, HeadTail, stop_commands
from longthread.tools.workspace import Workspace
from tool_calls import Session, tool_call

BEAT = "(trap '' TERM; while :; do echo x >> beat; sleep 0.05; done)"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands here are for a POSIX shell")


def session(root: Path, timeout: float = 20) -> Session:
    return Session([command_tool(Workspace(root), "always", timeout)])


def test_a_command_runs_in_the_workspace(tmp_path: Path) -> None:
    message = session(tmp_path).message("run_command", command="pwd; echo oops >&2")
    assert message.content == f"exit code 0\n{tmp_path}\noops"
    assert message.status == "success"
    assert message.additional_kwargs["summary"] == "ran `pwd; echo oops >&2`: exit code 0"


def test_an_exit_code_other_than_zero_is_shown_as_an_error(tmp_path: Path) -> None:
    message = session(tmp_path).message("run_command", command="echo no\nexit 3")
    assert (message.content, message.status) == ("exit code 3\nno", "error")
    assert message.additional_kwargs["summary"] == "ran `echo no exit 3`: exit code 3"


def test_a_command_gets_no_input(tmp_path: Path) -> None:
    assert session(tmp_path).text("run_command", command="cat; true") == "exit code 0\n(no output)"


def test_the_time_limit_kills_the_whole_group(tmp_path: Path) -> None:
    began = time.monotonic()
    message = session(tmp_path).message("run_command", command=f"trap '' TERM; echo begun; {BEAT} & wait", timeout=1)
    assert message.content == "stopped by the time limit of 1 s\nbegun"
    assert message.status == "error"
    assert time.monotonic() - began < 6
    assert has_ended(tmp_path / "beat")


def test_what_runs_in_the_background_ends_with_the_command(tmp_path: Path) -> None:
    began = time.monotonic()
    text = session(tmp_path).text("run_command", command=f"{BEAT} & sleep 0.2; echo done")
    assert text == "exit code 0\ndone"
    assert time.monotonic() - began < 5
    assert has_ended(tmp_path / "beat")


@pytest.mark.skipif(shutil.which("setsid") is None, reason="setsid is not installed")
def test_a_daemon_that_keeps_the_output_open_does_not_hold_the_call(tmp_path: Path) -> None:
    began = time.monotonic()
    text = session(tmp_path).text("run_command", command="setsid sleep 30 & echo $! > child; echo done")
    assert text == "exit code 0\ndone"
    assert time.monotonic() - began < 5
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


async def test_a_cancelled_command_is_killed(tmp_path: Path) -> None:
    [tool] = [command_tool(Workspace(tmp_path), "always")]
    call = tool_call("run_command", {"command": f"{BEAT}; true"}, {}, "c1")
    task = asyncio.create_task(tool.ainvoke(call))
    while not (tmp_path / "beat").exists():  # noqa: ASYNC110  # Another process makes it.
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert has_ended(tmp_path / "beat")


async def test_the_loop_goes_on_while_a_command_runs(tmp_path: Path) -> None:
    tool = command_tool(Workspace(tmp_path), "always")
    task = asyncio.create_task(tool.ainvoke(tool_call("run_command", {"command": "sleep 0.3; echo x"}, {}, "c1")))
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert (await task).content == "exit code 0\nx"
    assert ticks > 5


def test_an_interrupt_from_the_keyboard_kills_the_command(tmp_path: Path) -> None:
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session(tmp_path).message("run_command", command=f"{BEAT}; true")
    timer.join()
    assert has_ended(tmp_path / "beat")


def test_a_signal_handler_can_stop_commands_that_run_in_other_threads(tmp_path: Path) -> None:
    timer = threading.Timer(0.5, stop_commands)
    timer.start()
    message = session(tmp_path).message("run_command", command="echo begun; sleep 60; true")
    timer.join()
    assert (message.content, message.status) == ("stopped before it finished\nbegun", "error")


def test_long_output_keeps_head_and_tail_in_bounded_memory(tmp_path: Path) -> None:
    text = session(tmp_path).text(
        "run_command", command="echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo last"
    )
    assert len(text) < HEAD_BYTES + TAIL_BYTES + 200
    assert text.startswith("exit code 0\nfirst\n")
    assert text.endswith("xlast")
    assert "bytes left out" in text


@pytest.mark.parametrize("sizes", [[1], [HEAD_BYTES], [HEAD_BYTES - 1, 3], [HEAD_BYTES + TAIL_BYTES], [50_000] * 40])
def test_no_byte_is_lost_without_a_note(sizes: list[int]) -> None:
    stream, given = HeadTail(), b""
    for n, size in enumerate(sizes):
        stream.add(bytes([97 + n % 26]) * size)
        given += bytes([97 + n % 26]) * size
    assert len(stream.head) + len(stream.tail) + stream.left_out == len(given)
    assert stream.text().startswith(given[:HEAD_BYTES].decode())
    assert stream.text().encode().endswith(given[HEAD_BYTES:][-TAIL_BYTES:])


def test_output_that_is_not_utf8_is_shown(tmp_path: Path) -> None:
    assert session(tmp_path).text("run_command", command=r"printf 'caf\351'") == "exit code 0\ncaf\ufffd"


@pytest.mark.parametrize(
    "args",
    [
        {"command": " "},
        {"command": "a\0b"},
        {"command": "x" * 200_000},
        {"command": "ls", "timeout": -1},
        {"command": "ls", "timeout": 601},
    ],
)
def test_an_order_that_cannot_be_run_is_a_clear_error(tmp_path: Path, args: dict[str, Any]) -> None:
    with pytest.raises(WorkspaceError, match=r"command|timeout="):
        session(tmp_path).message("run_command", **args)


def test_a_workspace_that_is_gone_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    agent = session(tmp_path / "work")
    (tmp_path / "work").rmdir()
    with pytest.raises(WorkspaceError, match="cannot be started"):
        agent.message("run_command", command="ls")


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "PGPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "MYSQL_PWD",
        "GH_PAT",
        "client_secret",
        "NPM_AUTH",
    ],
)
def test_variables_named_like_secrets_are_kept_from_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "planted")
    assert "planted" not in session(tmp_path).text("run_command", command="env")


def test_addresses_with_a_password_are_kept_from_commands_and_harmless_ones_are_not() -> None:
    harmless = {"PATH": "/bin", "PWD": "/", "SSH_AUTH_SOCK": "/s", "KEYBOARD": "de", "DB": "postgres://me@host/x"}
    assert command_environment({**harmless, "DATABASE_URL": "postgres://me:hidden@host/x"}) == harmless


class Run:
    """One call of `run_command` in a graph with a saver, up to its interrupt and beyond."""

    def __init__(self, root: Path, command: str, approval: Literal["ask", "always"] = "ask") -> None:
        self.graph = one_call(root, approval)
        self.config: RunnableConfig = {"configurable": {"thread_id": "t"}}
        call = {"name": "run_command", "args": {"command": command}, "id": "c1", "type": "tool_call"}
        self.first = self.graph.invoke({"messages": [AIMessage("", tool_calls=[call])]}, self.config)

    def resume(self, answer: Any) -> ToolMessage:
        message = self.graph.invoke(Command(resume=answer), self.config)["messages"][-1]
        assert isinstance(message, ToolMessage)
        return message

    def decide(self, **decision: Any) -> ToolMessage:
        return self.resume({"decisions": [decision]})


def one_call(root: Path, approval: Literal["ask", "always"]) -> CompiledStateGraph[Any, Any, Any, Any]:
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([command_tool(Workspace(root), approval)]))
    builder.add_edge(START, "tools")
    builder.add_edge("tools", END)
    return builder.compile(checkpointer=InMemorySaver())


def test_approval_is_asked_in_the_shape_of_langchain(tmp_path: Path) -> None:
    run = Run(tmp_path, "touch made")
    [request] = run.first["__interrupt__"]
    assert request.value == {
        "action_requests": [
            {
                "name": "run_command",
                "args": {"command": "touch made", "timeout": 120},
                "description": "Run in the workspace, for at most 120 s:\ntouch made",
            }
        ],
        "review_configs": [{"action_name": "run_command", "allowed_decisions": ["approve", "edit", "reject"]}],
    }
    assert not (tmp_path / "made").exists()


def test_an_approved_command_runs(tmp_path: Path) -> None:
    assert Run(tmp_path, "echo hello").decide(type="approve").content == "exit code 0\nhello"


def test_a_rejected_command_is_an_error_with_the_message_of_the_user(tmp_path: Path) -> None:
    message = Run(tmp_path, "touch made").decide(type="reject", message="use make instead")
    assert message.status == "error"
    assert str(message.content).startswith("The user rejected this command: use make instead. It was not run")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("args", [{"command": "echo edited"}, {"command": "echo edited", "timeout": None}])
def test_an_edited_command_runs_and_says_so(tmp_path: Path, args: dict[str, Any]) -> None:
    action = {"name": "run_command", "args": args}
    message = Run(tmp_path, "touch made").decide(type="edit", edited_action=action)
    assert message.content == "The user changed the command; this was run: echo edited\nexit code 0\nedited"
    assert message.additional_kwargs["summary"] == "ran `echo edited`: exit code 0"


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        {"type": "approve"},
        {"decisions": []},
        {"decisions": ["approve"]},
        {"decisions": [{"type": "approve"}] * 2},
        {"decisions": [{"type": "maybe"}]},
        {"decisions": [{"type": "edit"}]},
        {"decisions": [{"type": "edit", "edited_action": {"name": "other", "args": {"command": "touch made"}}}]},
    ],
)
def test_a_decision_that_is_not_understood_runs_nothing_and_is_a_clear_error(tmp_path: Path, answer: Any) -> None:
    message = Run(tmp_path, "touch made").resume(answer)
    assert message.status == "error"
    assert str(message.content).startswith("Error: the command was not run, because its approval was not understood")
    assert not (tmp_path / "made").exists()


async def test_approval_works_under_async(tmp_path: Path) -> None:
    graph = one_call(tmp_path, "ask")
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    call = {"name": "run_command", "args": {"command": "echo hello"}, "id": "c1", "type": "tool_call"}
    await graph.ainvoke({"messages": [AIMessage("", tool_calls=[call])]}, config)
    answer: Any = {"decisions": [{"type": "approve"}]}
    done = await graph.ainvoke(Command(resume=answer), config)
    assert done["messages"][-1].content == "exit code 0\nhello"


def test_without_approval_nothing_is_asked(tmp_path: Path) -> None:
    assert Run(tmp_path, "echo x", "always").first["messages"][-1].content == "exit code 0\nx"


def has_ended(beat: Path) -> bool:
    """Whether the process that writes `BEAT` writes no more."""
    size = beat.stat().st_size
    time.sleep(0.3)
    return size > 0 and beat.stat().st_size == size
