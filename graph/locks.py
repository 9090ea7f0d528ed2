"""One run at a time per thread, across processes."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from longthread.graph.latches import MemoryLatch
from longthread.graph.savers.base import Latch, ThreadSaver
from longthread.tools.errors import ThreadBusy, ThreadError

T = TypeVar("T")
TIMEOUT = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.25
"""Seconds between tries; each pause is twice the one before."""


def thread_lock(saver: BaseCheckpointSaver[Any] | None, thread_id: str, timeout: float = TIMEOUT) -> "ThreadLock":
    """Hold a thread for one run, in a `with` or an `async with`:

        with thread_lock(saver, "t"):
            agent.invoke(task, {"configurable": {"thread_id": "t"}})

    Whoever takes it as well waits, in this process, another one, or with Postgres on another
    machine. It frees itself when its owner dies. With SQLite it is a file beside the database,
    with Postgres an advisory lock on a connection of its own (so no pooler that hands connections
    around may stand between), with `InMemorySaver` a lock in this process. It keeps out only those
    who take it too. It is not re-entrant.

    Args:
        saver: from `open_saver`, an `InMemorySaver`, or `None`: then nothing is held.
        thread_id: the thread's name.
        timeout: seconds to wait for another owner; 0 tries once.

    Raises:
        ThreadBusy: on entering, when another owner still has it after `timeout`.
        ThreadError: another kind of saver, which cannot be locked.
        StoreUnusable: the lock file cannot be made, or the server not be reached.
    """
    return ThreadLock(_latch(saver, thread_id), thread_id, timeout)


def _latch(saver: BaseCheckpointSaver[Any] | None, thread_id: str) -> Latch | None:
    if saver is None:
        return None
    if isinstance(saver, ThreadSaver):
        return saver.latch(thread_id)
    if isinstance(saver, InMemorySaver):
        return MemoryLatch(saver, thread_id)
    raise ThreadError(
        f"thread_lock cannot lock threads of a {type(saver).__name__}: use a saver from open_saver or an InMemorySaver"
    )


class ThreadLock:
    """What `thread_lock` returns; taken when the `with` is entered."""

    def __init__(self, latch: Latch | None, thread_id: str, timeout: float) -> None:
        self._latch, self._thread, self._timeout = latch, thread_id, timeout

    def __enter__(self) -> Self:
        if self._latch:
            try:
                self._wait(self._latch)
            except BaseException:
                self._latch.release()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._latch:
            self._latch.release()

    async def __aenter__(self) -> Self:
        if self._latch:
            try:
                await self._await(self._latch)
            except BaseException:
                await _whole(self._latch.release)
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._latch:
            await _whole(self._latch.release)

    def _wait(self, latch: Latch) -> None:
        for pause in self._pauses():
            time.sleep(pause)
            if latch.try_take():
                return
        raise self._busy(latch)

    async def _await(self, latch: Latch) -> None:
        for pause in self._pauses():
            await asyncio.sleep(pause)
            if await _whole(latch.try_take):
                return
        raise self._busy(latch)

    def _pauses(self) -> Iterator[float]:
        """Seconds to pause before each try."""
        end, pause = time.monotonic() + self._timeout, FIRST_PAUSE
        yield 0.0
        while (left := end - time.monotonic()) > 0:
            yield min(pause, left)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _busy(self, latch: Latch) -> ThreadBusy:
        holder = f" ({latch.holder})" if latch.holder else ""
        return ThreadBusy(
            f"thread {self._thread!r} is in use by another run{holder}, still so after {self._timeout:g} s: "
            "try again when that run has ended, wait longer, or use another thread"
        )


async def _whole(step: Callable[[], T]) -> T:
    """Run a step in a worker thread and see its end, even if cancelled: else a lock is taken that nobody frees."""
    running = asyncio.ensure_future(asyncio.to_thread(step))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
