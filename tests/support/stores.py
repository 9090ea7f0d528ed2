"""Running something on a store from elsewhere: another thread's stack, another process."""

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def elsewhere(work: Callable[[], T]) -> T:
    """What `work` returns or raises in a thread of its own, where no run of the caller's can be seen."""
    done: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def at_once(work: Callable[..., object], calls: Sequence[tuple[object, ...]]) -> None:
    """Make the calls side by side, each in a thread of its own."""
    threads = [threading.Thread(target=work, args=arguments) for arguments in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_another_process(script: Path | str, *arguments: str) -> str:
    """What a script prints; its failure is the caller's."""
    command = [sys.executable, "-c", script] if isinstance(script, str) else [sys.executable, str(script)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
