"""Exact replacement in the bytes of a file, and taking one back."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from longthread.tools.errors import WorkspaceError
from longthread.tools.tracker import content_hash

UNDO_WORK_BYTES = 500_000_000
"""How much is hashed at most in search of the text that an edit was made in (about half a second)."""


@dataclass(frozen=True)
class Replacement:
    """The text `old` replaced by `new`: where it stands if that is one place only, or at `every` place."""

    old: str
    new: str
    every: bool = False

    def apply(self, path: str, data: bytes) -> bytes:
        """The bytes after it, in the line endings that the file has there.

        Raises:
            WorkspaceError: `old` is empty, the same as `new`, not there, or there more than once
                without `every`.
        """
        if not self.old:
            raise WorkspaceError(
                "old is empty; give the exact text to replace, or write the whole file with write_file"
            )
        old, new = _in_endings_of(data, encoded(self.old), encoded(self.new))
        if old == new:
            raise WorkspaceError("old and new are the same; nothing would change")
        first = data.find(old)
        if first < 0:
            raise WorkspaceError(f"old is not in {path!r}; copy it exactly from read_file, without the line numbers")
        if self.every:
            return data.replace(old, new)
        if data.find(old, first + 1) >= 0:
            times = max(2, data.count(old))
            raise WorkspaceError(f"old is in {path!r} {times} times; add lines around it, or set replace_all to true")
        return data[:first] + new + data[first + len(old) :]

    def undo(self, data: bytes, wanted: str) -> bytes | None:
        """The bytes before it, known by their SHA-256 `wanted`; `None` if it was not made here.

        One at every place is found if `new` was not in the file before and is not empty.
        """
        for old, new in self._in_all_endings():
            if self.every and new and content_hash(whole := data.replace(new, old)) == wanted:
                return whole
            if (found := _undone_once(data, old, new, wanted)) is not None:
                return found
        return None

    def _in_all_endings(self) -> list[tuple[bytes, bytes]]:
        old, new = encoded(self.old), encoded(self.new)
        return list(dict.fromkeys([(old, new), (_crlf(old), _crlf(new)), (_lf(old), _lf(new))]))


def _undone_once(data: bytes, old: bytes, new: bytes, wanted: str) -> bytes | None:
    done = hashlib.sha256()
    hashed = work = 0
    for place in _places(data, new):
        if place < hashed:
            done, hashed = hashlib.sha256(), 0
        done.update(data[hashed:place])
        hashed, here = place, done.copy()
        here.update(old)
        here.update(rest := memoryview(data)[place + len(new) :])
        if here.hexdigest() == wanted:
            return data[:place] + old + rest.tobytes()
        work += len(rest)
        if work > UNDO_WORK_BYTES:
            return None
    return None


def _places(data: bytes, text: bytes) -> Iterator[int]:
    """Where `text` stands; for an empty text everywhere, line starts first."""
    if not text:
        yield from (n for n in range(len(data) + 1) if n in (0, len(data)) or data[n - 1] == 10)
        yield from range(len(data) + 1)
        return
    place = data.find(text)
    while place >= 0:
        yield place
        place = data.find(text, place + 1)


def _in_endings_of(data: bytes, old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Both texts with the line endings of the file, or, where it has both kinds, of the place."""
    windows = data.count(b"\r\n")
    if windows and (windows == data.count(b"\n") or old not in data):
        return _crlf(old), _crlf(new)
    return (old, new) if old in data else (_lf(old), _lf(new))


def _crlf(text: bytes) -> bytes:
    return _lf(text).replace(b"\n", b"\r\n")


def _lf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n")


def encoded(text: str) -> bytes:
    """The text as UTF-8; `WorkspaceError` where it cannot be."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise WorkspaceError("the text has lone surrogates, which no UTF-8 file can hold; leave them out") from None
