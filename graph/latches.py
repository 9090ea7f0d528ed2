"""Locks of one thread that free themselves when their owner dies: a file's, a process's."""

import contextlib
import hashlib
import os
import sys
import threading
from pathlib import Path
from weakref import WeakKeyDictionary

from longthread.tools.errors import StoreUnusable

FAR = 1 << 30
"""On Windows the byte that is locked: locked bytes cannot be read, and the first ones name the owner."""


class FileLatch:
    """An advisory lock on a file beside the database, one file for each thread.

    It holds across processes, and between threads of one. The system frees it when its process
    ends, however it ends. The file is gone after a release; one that a kill left behind is harmless.
    """

    def __init__(self, database: Path, thread_id: str) -> None:
        real = database.resolve()
        named = hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self.path = real.with_name(f"{real.name}.{named}.lock")
        self._descriptor: int | None = None

    @property
    def holder(self) -> str:
        """The process that has it."""
        with contextlib.suppress(OSError, ValueError):
            return f"process {int(self.path.read_text())}"
        return ""

    def try_take(self) -> bool:
        """Take it if it is free; never waits."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0))
            if _lock(descriptor) and _is(self.path, descriptor):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
                self._descriptor = descriptor
                return True
        except OSError as error:
            raise StoreUnusable(
                f"{str(self.path)!r} cannot be used as a lock: {error}; make its folder writable"
            ) from error
        os.close(descriptor)
        return False

    def release(self) -> None:
        """Give it back if it was taken."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # Windows keeps a file that is open; it is reused then
                self.path.unlink()
            os.close(self._descriptor)
            self._descriptor = None


def _lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is(path: Path, descriptor: int) -> bool:
    """Whether the locked file is still the one of that name: its last owner removes it on release."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    return False


_held: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()
_guard = threading.Lock()


class MemoryLatch:
    """A lock in this process, for threads that live in its memory."""

    holder = "this process"

    def __init__(self, saver: object, thread_id: str) -> None:
        self._saver, self._thread, self._taken = saver, thread_id, False

    def try_take(self) -> bool:
        """Take it if it is free; never waits."""
        with _guard:
            held = _held.setdefault(self._saver, set())
            self._taken = self._thread not in held
            held.add(self._thread)
        return self._taken

    def release(self) -> None:
        """Give it back if it was taken."""
        with _guard:
            if self._taken:
                _held[self._saver].discard(self._thread)
            self._taken = False
