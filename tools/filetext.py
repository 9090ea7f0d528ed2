"""What a file says: its text with hash and lines, and the part of it that was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from longthread.tools.errors import WorkspaceError
from longthread.tools.tracker import content_hash

BINARY_PROBE_BYTES = 8_192
"""A NUL byte this near to the beginning makes a file binary, as git has it."""


@dataclass(frozen=True)
class FileText:
    """A text file as it was when it was read."""

    path: str
    """Relative to the workspace, with forward slashes."""
    text: str
    """Line endings as on disk."""
    hash: str
    """SHA-256 of the bytes, in hex."""
    lossy: bool
    """The bytes are not valid UTF-8; what could not be decoded stands as U+FFFD."""

    @property
    def lines(self) -> list[str]:
        """The lines without their endings (`\\n` or `\\r\\n`)."""
        return split_lines(self.text)


@dataclass(frozen=True)
class FileLines:
    """Lines `first` to `last` of a file that has `total` lines; an empty file has none."""

    path: str
    hash: str
    lossy: bool
    lines: Sequence[str]
    """Without their endings."""
    first: int
    """Number of the first line, from 1."""
    total: int

    @property
    def last(self) -> int:
        """Number of the last line; `first - 1` if there are none."""
        return self.first + len(self.lines) - 1


def split_lines(text: str) -> list[str]:
    """Lines as editors and grep count them: only `\\n` ends one, a `\\r` before it belongs to the ending."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def decode_file(path: str, data: bytes) -> FileText:
    """The text of a file.

    Raises:
        WorkspaceError: the file is binary.
    """
    if b"\0" in data[:BINARY_PROBE_BYTES]:
        raise WorkspaceError(f"{path!r} is a binary file (it has NUL bytes); only text files can be read as text")
    try:
        return FileText(path, data.decode(), content_hash(data), lossy=False)
    except UnicodeDecodeError:
        return FileText(path, data.decode(errors="replace"), content_hash(data), lossy=True)


def take_lines(file: FileText, offset: int = 1, limit: int | None = None) -> FileLines:
    """At most `limit` lines (`None`: all) from line `offset` on, counted from 1; 0 counts as 1.

    Raises:
        WorkspaceError: a negative offset, a limit below 1, an offset past the end.
    """
    lines, first = file.lines, offset or 1
    if first < 1:
        raise WorkspaceError(f"offset={offset!r} must be a line number from 1")
    if limit is not None and limit < 1:
        raise WorkspaceError(f"limit={limit!r} must be a number of lines from 1; leave it out for the whole file")
    if first > max(1, len(lines)):
        raise WorkspaceError(f"offset={offset!r} is past the end: {file.path!r} has {len(lines)} lines")
    end = None if limit is None else first - 1 + limit
    return FileLines(file.path, file.hash, file.lossy, lines[first - 1 : end], first, len(lines))
