"""SIGTERM: a run ends at its next step boundary; a prompt ends at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from langgraph.runtime import RunControl

from longthread.graph.cli.faults import Terminated


class Shutdown:
    """Takes SIGTERM; the second one ends a run at once."""

    def __init__(self) -> None:
        self._control: RunControl | None = None

    @contextmanager
    def draining(self) -> Iterator[RunControl]:
        """The control to hand to a run; while it is in force, SIGTERM drains that run."""
        self._control = RunControl()
        try:
            yield self._control
        finally:
            self._control = None

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._control is None or self._control.drain_requested:
            raise Terminated
        self._control.request_drain("SIGTERM")

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
