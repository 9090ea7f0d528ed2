"""Runs of the command line: as a process of its own, on a pseudo-terminal, and against a scripted server."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openai_server import OpenAIServer, Reply

COMMAND = (sys.executable, "-m", "longthread.graph.cli")
Process = subprocess.Popen[str]
TODOS: list[dict[str, str]] = [
    {"id": "1", "content": "read the greeting", "status": "completed"},
    {"id": "2", "content": "change the greeting", "status": "in_progress"},
]
ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[@-Z\\-_]")


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def greeter(body: dict[str, Any]) -> Reply:
    """Plans, reads `greeting.txt`, changes it, finishes the plan, answers: one step for each answer so far."""
    steps = (
        Reply("I make a plan.", calls=(("todo_write", {"todos": TODOS}),)),
        Reply("Now I read the file.", calls=(("read_file", {"path": "greeting.txt"}),)),
        Reply("", calls=(("edit_file", {"path": "greeting.txt", "old": "hello", "new": "good morning"}),)),
        Reply("", calls=(("todo_write", {"todos": [{**todo, "status": "completed"} for todo in TODOS]}),)),
        Reply("The greeting is changed, and that was all there was to do here."),
    )
    answers = sum(message["role"] == "assistant" for message in body["messages"])
    return steps[min(answers, len(steps) - 1)]


def workspace_in(folder: Path) -> Path:
    """A workspace with a file to change."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "greeting.txt").write_text("hello\n")
    return workspace


def options(server: OpenAIServer, folder: Path) -> list[str]:
    """Options for a run on that workspace, against that server, in a store of its own."""
    where = ["--workspace", str(folder / "workspace"), "--db", str(folder / "threads.db")]
    return [*where, "--base-url", server.base_url, "--model", "test"]


def environment(**more: str) -> dict[str, str]:
    """The test's environment, without the machine's state folder."""
    return {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "110", "LINES": "40", **more}


def start(args: Sequence[str], *, module: bool = True, stdin: int = subprocess.DEVNULL, **more: str) -> Process:
    """Begin a command (`module=False`: any Python) whose output can be read as it comes; `more` is environment."""
    command = [*COMMAND, *args] if module else [sys.executable, *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command,
        text=True,
        env=environment(**more),
        stdin=stdin,
        stdout=pipe,
        stderr=pipe,
        preexec_fn=take_interrupts,  # it calls nothing that another thread may hold
    )


def take_interrupts() -> None:
    """A shell that runs the tests in its background lets them ignore Ctrl-C, and a child inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ran(args: Sequence[str], stdin: str | None = None, *, module: bool = True, **more: str) -> Ran:
    """Run a command to its end."""
    where = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    process = start(args, module=module, stdin=where, **more)
    out, err = process.communicate(stdin, timeout=60)
    return Ran(process.returncode, out, err)


def wait_for(process: Process, text: str) -> str:
    """Read the command's output up to a line with this text."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} never came: {seen} {process.stderr.read() if process.stderr else ''}")


class Terminal:
    """A command on a pseudo-terminal of 110 columns."""

    def __init__(self, args: Sequence[str]) -> None:
        self.screen = ""
        """Everything that was written so far, without escape sequences."""
        self._raw = b""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:  # pragma: no cover  # the child
            take_interrupts()
            os.execve(sys.executable, [*COMMAND, *args], environment(TERM="xterm-256color"))

    @property
    def raw(self) -> str:
        """Everything, escape sequences included."""
        return self._raw.decode(errors="replace")

    def wait(self, text: str, seconds: float = 30.0) -> None:
        """Read until a text stands on the screen."""
        deadline = time.monotonic() + seconds
        while text not in self.screen:
            assert time.monotonic() < deadline, f"{text!r} never came: {self.screen}"
            assert self._read(), f"{text!r} never came: {self.screen}"

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            continue
        os.close(self._fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        if not select.select([self._fd], [], [], 30.0)[0]:
            raise AssertionError(f"nothing comes any more: {self.screen}")
        try:
            data = os.read(self._fd, 65_536)
        except OSError:  # Linux's way of saying that the other side is closed.
            data = b""
        self._raw += data
        self.screen = ESCAPES.sub("", self.raw).replace("\r", "")
        return bool(data)
