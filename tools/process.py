"""One shell command: in its own process group, within a time limit, its output within bounds.

The whole group is killed at the time limit, when the caller is interrupted, and at the end, so
that nothing goes on in the background. A process that leaves the group (a daemon) escapes.
"""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

HEAD_BYTES = TAIL_BYTES = 64_000
GRACE_SECONDS = 1.0
"""Between the polite signal and the last one; also how long output is waited for after the end."""
_running: set[threading.Event] = set()


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int | None
    """The exit code, negative for a signal; `None` if it was stopped."""
    late: bool
    """The time limit stopped it."""
    output: str
    """Stdout and stderr as they came, head and tail if there was more than 128 KB."""


@dataclass
class HeadTail:
    """The first and the last bytes of a stream, however long it is."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    left_out: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        with self._lock:
            room = HEAD_BYTES - len(self.head)
            self.head += chunk[:room]
            self.tail += chunk[room:]
            if (extra := len(self.tail) - TAIL_BYTES) > 0:
                del self.tail[:extra]
                self.left_out += extra

    def text(self) -> str:
        """What was kept, with a note where bytes are missing."""
        with self._lock:
            note = f"\n[… {self.left_out} bytes left out …]\n".encode() if self.left_out else b""
            return (self.head + note + self.tail).decode(errors="replace")


def run(command: str, cwd: Path, env: Mapping[str, str], timeout: float, stop: threading.Event) -> Outcome:
    """Run a command through the shell until it ends, `timeout` seconds are over, or `stop` is set.

    Raises:
        OSError: the shell cannot be started.
    """
    process = _start(command, cwd, env)
    assert process.stdout is not None
    output = HeadTail()
    reader = threading.Thread(target=_drain, args=(process.stdout, output), daemon=True)
    _running.add(stop)
    try:
        reader.start()
        late = _wait(process, time.monotonic() + timeout, stop)
        code = process.poll()
    finally:
        _running.discard(stop)
        _kill_group(process)
        reader.join(GRACE_SECONDS)
    return Outcome(code, late, output.text())


def stop_commands() -> None:
    """Stop every command that this process runs.

    For signal handlers: a Ctrl-C reaches the main thread only, while tools run in others.
    """
    for stop in list(_running):
        stop.set()


def _start(command: str, cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    shell = [shutil.which("bash") or "/bin/sh", "-c", command] if os.name == "posix" else command
    return subprocess.Popen(
        shell,
        shell=isinstance(shell, str),
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _drain(stream: IO[bytes], output: HeadTail) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 65_536):
            output.add(chunk)


def _wait(process: subprocess.Popen[bytes], deadline: float, stop: threading.Event) -> bool:
    """Whether the deadline came before the end and before `stop`."""
    pause = 0.001
    while process.poll() is None and not stop.wait(pause):
        if time.monotonic() > deadline:
            return True
        pause = min(pause * 2, 0.05)
    return False


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
