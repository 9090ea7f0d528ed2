"""SIGTERM: a run ends at its next step boundary; a prompt ends at once."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from langgraph.runtime import RunControl

from longthread.graph.cli.faults import Terminated


class Shutdown:
    """Takes SIGTERM; the second one ends a run at once."""

    def __init__(self) -> None:
        self._control: RunControl | None = None
        self._tell: Callable[[], object] | None = None

    @contextmanager
    def draining(self, tell: Callable[[], object]) -> Iterator[RunControl]:
        """The control to hand to a run of the running loop; while it is in force, SIGTERM drains that run.

        `tell` is then called, by the loop: a handler comes in the midst of anything, printing too.
        """
        loop = asyncio.get_running_loop()
        self._control, self._tell = RunControl(), lambda: loop.call_soon_threadsafe(tell)
        try:
            yield self._control
        finally:
            self._control = self._tell = None

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._control is None or self._control.drain_requested:
            raise Terminated
        self._control.request_drain("SIGTERM")
        if self._tell:
            self._tell()

    @contextmanager
    def handled(self) -> Iterator[None]:
        """SIGTERM comes here. Only the main thread can ask for that; elsewhere nothing changes."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGTERM, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
