"""Folders that are opened step by step below a root, following no link.

A path that was resolved and checked can change before it is used. So each component is opened
relative to the one before it with `O_NOFOLLOW`: a link swapped in meanwhile is refused by the
kernel. Where a platform has no `dir_fd` (Windows) names are joined to paths instead, and only
the check before the use protects.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

HAS_DIR_FD = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
# Opening a FIFO or a terminal must neither wait nor take it over.
_ALWAYS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True)
class Folder:
    """An open folder; `fd` is `None` where names are joined to `path`."""

    path: str
    fd: int | None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """A descriptor of an entry; never follows a link, never waits for a FIFO."""
        return os.open(self._at(name), flags | _ALWAYS, mode, dir_fd=self.fd)

    def stat(self, name: str) -> os.stat_result | None:
        """What an entry is, a link as a link; `None` if there is none."""
        try:
            return os.stat(self._at(name), dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def replace(self, source: str, target: str) -> None:
        """Rename one entry over another, in one step."""
        os.replace(self._at(source), self._at(target), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def unlink(self, name: str) -> None:
        """Remove an entry, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(self._at(name), dir_fd=self.fd)

    def make(self, name: str) -> None:
        """Create a folder, if there is none."""
        with suppress(FileExistsError):
            os.mkdir(self._at(name), dir_fd=self.fd)

    def sync(self) -> None:
        """Bring the folder's own entries to disk."""
        if self.fd is not None:
            os.fsync(self.fd)

    def entries(self) -> list[tuple[str, Kind]]:
        """Names and kinds of what lies in the folder, sorted."""
        with os.scandir(self.path if self.fd is None else self.fd) as found:
            return sorted((entry.name, _kind(entry)) for entry in found)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name) if self.fd is None else name


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


@contextmanager
def open_folder(root: str, parts: Sequence[str], *, create: bool = False) -> Iterator[Folder]:
    """The folder `parts` below `root`, opened component by component; `create` makes missing ones.

    Raises:
        OSError: a component is missing, is no folder, or has become a link.
    """
    if not HAS_DIR_FD:
        yield _by_name(root, parts, create)
        return
    path, fd = root, os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            here = Folder(path, fd)
            if create:
                here.make(part)
            path, deeper = os.path.join(path, part), here.open(part, os.O_RDONLY | os.O_DIRECTORY)
            os.close(fd)
            fd = deeper
        yield Folder(path, fd)
    finally:
        os.close(fd)


def _by_name(root: str, parts: Sequence[str], create: bool) -> Folder:
    path = os.path.join(root, *parts)
    if create:
        os.makedirs(path, exist_ok=True)
    elif not stat.S_ISDIR(os.stat(path).st_mode):
        raise NotADirectoryError(path)
    return Folder(path, None)
