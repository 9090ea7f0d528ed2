"""Which lines match: asked of `rg` if it is there, else of `re`, each in a process with a time limit.

Both say only where the matches are. What stands there is read through the workspace, so that a
link swapped in meanwhile shows nothing, and both look the same.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from longthread.tools.errors import WorkspaceError
from longthread.tools.workspace import MAX_FILE_BYTES

MAX_PATTERN_CHARACTERS = 1_000
_CHUNK_FILES, _CHUNK_BYTES = 500, 60_000
_RG = ("rg", "--no-config", "--no-messages", "--text", "--encoding", "none", "--crlf", "-j1", "--max-count", "201",
       "--with-filename", "--null", "--line-number", "--column", "--no-heading", "--color", "never",
       "--max-columns", "1")  # fmt: skip
_RE = (sys.executable, "-I", str(Path(__file__).with_name("re_worker.py")))
_HIT = re.compile(rb"\./([^\0]+)\0(\d+):(\d+):[^\n]*\n")


class SearchTimeout(WorkspaceError):
    """The time limit came before the end; what was found until then has been handed out."""


@dataclass(frozen=True)
class Query:
    """A regular expression for single lines.

    Raises:
        WorkspaceError: empty, with a NUL or lone surrogate, or longer than 1 000 characters.
    """

    pattern: str
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if not 0 < len(self.pattern) <= MAX_PATTERN_CHARACTERS:
            raise WorkspaceError(
                f"a pattern must have 1 to {MAX_PATTERN_CHARACTERS} characters, not {len(self.pattern)}"
            )
        if re.search("[\0\ud800-\udfff]", self.pattern):
            raise WorkspaceError(f"pattern {self.pattern!r} has a NUL or a lone surrogate; leave it out")


@dataclass(frozen=True)
class Hit:
    """A matching line, and where in it the first match begins (bytes, from 1)."""

    line: int
    column: int


def search(root: Path, paths: Sequence[str], query: Query, seconds: float) -> Iterator[tuple[str, list[Hit]]]:
    """Files with their matching lines, in the order of `paths`; links and files over 10 MB are passed over.

    A pattern that `rg` does not take (a look-around, a back reference) goes to `re`.

    Raises:
        WorkspaceError: the pattern is invalid. `SearchTimeout`: after the last file that was searched in time.
    """
    deadline = time.monotonic() + seconds
    programs = [_RG, _RE] if shutil.which("rg") else [_RE]
    for chunk in _chunks(path for path in paths if _is_searchable(root, path)):
        output, late = _first_that_takes_it(programs, root, chunk, query, deadline)
        found = [(os.fsdecode(path), Hit(int(line), int(column))) for path, line, column in _HIT.findall(output)]
        for path, group in groupby(found, key=lambda pair: pair[0]):
            yield path, [hit for _, hit in group]
        if late:
            raise SearchTimeout(f"stopped after {seconds:g} s; search a smaller folder or simplify the pattern")


def _first_that_takes_it(
    programs: Sequence[tuple[str, ...]], root: Path, chunk: list[str], query: Query, deadline: float
) -> tuple[bytes, bool]:
    """The output, and whether the deadline cut it off."""
    arguments = ["-i" if query.ignore_case else "-s", f"--regexp={query.pattern}", *chunk]
    why = b""
    for program in programs:
        left = max(0.01, deadline - time.monotonic())
        try:
            done = subprocess.run(
                [*program, *arguments], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, timeout=left
            )
        except subprocess.TimeoutExpired as late:
            return late.stdout or b"", True
        if done.returncode == 0 or done.stdout or (program is _RG and done.returncode == 1):
            return done.stdout, False
        why = done.stderr
    reason = why.decode(errors="replace").strip()
    raise WorkspaceError(f"pattern {query.pattern!r} is invalid: {reason}; put a backslash before . ( [ and such")


def _is_searchable(root: Path, path: str) -> bool:
    try:
        path.encode()
        found = os.lstat(os.path.join(root, path))
    except (OSError, UnicodeEncodeError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= MAX_FILE_BYTES


def _chunks(paths: Iterator[str]) -> Iterator[list[str]]:
    """As many paths as fit on a command line, each so that it cannot be taken for an option."""
    chunk: list[str] = []
    size = 0
    for path in paths:
        if len(chunk) >= _CHUNK_FILES or size + len(path.encode()) > _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(f"./{path}")
        size += len(path.encode()) + 3
    if chunk:
        yield chunk
