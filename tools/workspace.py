"""The workspace: the one folder whose files the tools may touch, and nothing outside it.

A path is made relative, resolved and checked, then opened component by component without
following links (`beneath`), so that a link swapped in between check and use is refused too.
"""

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longthread.tools.atomic import replace_file
from longthread.tools.beneath import Folder, Kind, open_folder
from longthread.tools.errors import WorkspaceError
from longthread.tools.filetext import FileLines, FileText, decode_file, take_lines
from longthread.tools.names import check_name, check_text
from longthread.tools.similar import similar_paths

MAX_FILE_BYTES = 10_000_000
_LOCKS = tuple(threading.RLock() for _ in range(64))
_REASONS = {
    errno.ENOTDIR: "a part of it is not a folder, or has just become a link",
    errno.ELOOP: "it is a link that leads in a circle, or has just become a link",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full; nothing was changed",
}


class FileMissing(WorkspaceError):
    """Nothing lies under the path."""


class Workspace:
    """Files below one folder, by paths relative to it (or absolute ones inside it).

    Every method raises `WorkspaceError` for a path outside, with `..`, or with a name that no file
    can have, and for what the system refuses; the text says what to do instead.
    """

    def __init__(self, root: str | Path) -> None:
        path = Path(root).expanduser()
        if not path.is_dir():
            raise WorkspaceError(f"the workspace {str(root)!r} is not a folder; create it or name another")
        self.root = path.resolve()
        """The folder itself, absolute and without links."""

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    def relative(self, path: str) -> str:
        """The path below the root, links resolved, with forward slashes; the root itself is `.`."""
        check_name(path)
        try:
            real = Path(os.path.realpath(os.path.join(self.root, path)))
        except OSError as error:  # A link that changed while it was followed.
            raise self._explained(path, error) from error
        if not real.is_relative_to(self.root):
            raise WorkspaceError(
                f"{path!r} is outside the workspace; give a path relative to the workspace, such as 'src/a.py'"
            )
        inside = real.relative_to(self.root).as_posix()
        check_text(inside)
        return inside

    def kind(self, path: str) -> Kind | None:
        """What lies under the path; `None` if nothing does."""
        *parents, name = _parts(self.relative(path)) or [""]
        if not name:
            return "folder"
        try:
            with open_folder(str(self.root), parents) as folder:
                found = folder.stat(name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._explained(path, error) from error
        return None if found is None else _kind(found.st_mode)

    def read_bytes(self, path: str) -> bytes:
        """The bytes of a file of at most 10 MB."""
        inside = self.relative(path)
        with self._opened(inside) as (folder, name):
            fd = folder.open(name, os.O_RDONLY)
            try:
                _check_file(inside, os.fstat(fd))
                with open(fd, "rb", closefd=False) as file:
                    data = file.read(MAX_FILE_BYTES + 1)
            finally:
                os.close(fd)
        _check_size(inside, len(data))
        return data

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file in one step, missing folders included; the mode of a replaced file is kept."""
        inside = self.relative(path)
        if ".git" in (part.casefold() for part in _parts(inside)):
            raise WorkspaceError(
                f"{inside!r} belongs to git itself, which may run what stands there; it is not written"
            )
        _check_size(inside, len(data))
        with self._opened(inside, create=True) as (folder, name):
            if (there := folder.stat(name)) is not None:
                _check_file(inside, there, huge=True)
            replace_file(folder, name, data)

    def read_text(self, path: str) -> FileText:
        """The text of a file; a binary one is an error, one that is not UTF-8 is marked `lossy`."""
        return decode_file(self.relative(path), self.read_bytes(path))

    def read_lines(self, path: str, offset: int = 1, limit: int | None = None) -> FileLines:
        """At most `limit` lines (`None`: all) from line `offset` on, counted from 1."""
        return take_lines(self.read_text(path), offset, limit)

    def entries(self, path: str = ".") -> list[tuple[str, Kind]]:
        """Names and kinds of what lies in a folder, sorted by name."""
        inside = self.relative(path)
        try:
            with open_folder(str(self.root), _parts(inside)) as folder:
                return folder.entries()
        except OSError as error:
            raise self._explained(inside, error) from error

    @contextmanager
    def lock(self, path: str) -> Iterator[None]:
        """Keeps the writers of one file inside this process apart."""
        with _LOCKS[hash((self.root, self.relative(path))) % len(_LOCKS)]:
            yield

    @contextmanager
    def _opened(self, inside: str, *, create: bool = False) -> Iterator[tuple[Folder, str]]:
        """The open folder of a path, and the name in it."""
        *parents, name = _parts(inside) or [""]
        if not name:
            raise _folder_error(inside)
        try:
            with open_folder(str(self.root), parents, create=create) as folder:
                yield folder, name
        except OSError as error:
            raise self._explained(inside, error) from error

    def _explained(self, path: str, error: OSError) -> WorkspaceError:
        if error.errno == errno.EISDIR:
            return _folder_error(path)
        if error.errno == errno.ENOENT:
            similar = ", ".join(map(repr, similar_paths(str(self.root), path)))
            hint = f"did you mean {similar}?" if similar else "list_files shows what is there"
            return FileMissing(f"{path!r} does not exist; {hint}")
        reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
        return WorkspaceError(f"{path!r} cannot be used: {reason}; check the path with list_files")


def _parts(inside: str) -> list[str]:
    return [] if inside == "." else inside.split("/")


def _check_file(inside: str, found: os.stat_result, *, huge: bool = False) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _folder_error(inside)
    if not stat.S_ISREG(found.st_mode):
        raise WorkspaceError(f"{inside!r} is not a regular file (a pipe, socket or device); name a regular file")
    if not huge:
        _check_size(inside, found.st_size)


def _check_size(inside: str, size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise WorkspaceError(
            f"{inside!r} is larger than {MAX_FILE_BYTES // 1_000_000} MB; look at parts of it with a command"
        )


def _folder_error(path: str) -> WorkspaceError:
    return WorkspaceError(f"{path!r} is a folder, not a file; see what is in it with list_files")


def _kind(mode: int) -> Kind:
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "link" if stat.S_ISLNK(mode) else "other"
