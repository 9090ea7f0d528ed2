"""Replace a file in one step: readers see the old bytes or the new ones, never a mix.

The new bytes go to a temporary file in the same folder, reach the disk, and are renamed over the
old. The temporary name follows from the file's name, so that a write that a kill cut off leaves
nothing behind once it runs again; a lock on it keeps other processes apart.
"""

import hashlib
import os
import stat
import time
from contextlib import suppress

from longthread.tools.beneath import Folder

WAIT_SECONDS = 10.0
"""How long a writer waits for another process that writes the same file."""


def replace_file(folder: Folder, name: str, data: bytes) -> None:
    """Write `data` under `name`; the mode of the file that it replaces is kept.

    Raises:
        OSError: no room, no permission; the old file is untouched. `TimeoutError`: another
            process did not finish its own write in time.
    """
    temporary = _temporary_name(name)
    fd = _open_alone(folder, temporary)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            _keep_mode(folder.stat(name), fd)
            file.flush()
            os.fsync(fd)
            if folder.fd is not None:
                folder.replace(temporary, name)
        if folder.fd is None:  # Windows renames no open file.
            folder.replace(temporary, name)
    except BaseException:
        folder.unlink(temporary)
        raise
    folder.sync()


def _temporary_name(name: str) -> str:
    return f".longthread-{hashlib.sha256(name.encode()).hexdigest()[:16]}.tmp"


def _open_alone(folder: Folder, temporary: str) -> int:
    """The empty temporary file, locked. What stood under its name meanwhile was renamed or is not ours."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        fd = folder.open(temporary, os.O_WRONLY | os.O_CREAT)
        try:
            if _lock(fd) and _is_ours(os.fstat(fd), folder, temporary):
                os.truncate(fd, 0)
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        if time.monotonic() > deadline:
            raise TimeoutError("another process is writing this file")
        time.sleep(0.01)


def _is_ours(opened: os.stat_result, folder: Folder, temporary: str) -> bool:
    """Still under its name, and no hard link to a file elsewhere (such a one is removed)."""
    there = folder.stat(temporary)
    if there is None or not os.path.samestat(opened, there):
        return False
    if stat.S_ISREG(opened.st_mode) and opened.st_nlink == 1:
        return True
    folder.unlink(temporary)
    return False


def _lock(fd: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows: writers inside the process are kept apart by the workspace.
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # A file system without locks.
        return True
    return True


def _keep_mode(old: os.stat_result | None, fd: int) -> None:
    if old is None or not hasattr(os, "fchown"):
        return
    with suppress(OSError):  # Another user's file becomes ours, as with any editor.
        os.fchown(fd, old.st_uid, old.st_gid)
    with suppress(OSError):
        os.fchmod(fd, stat.S_IMODE(old.st_mode))
