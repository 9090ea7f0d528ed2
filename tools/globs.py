"""File patterns, matched without backtracking, so that no pattern and no name can make it slow."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from longthread.tools.errors import WorkspaceError

MAX_PATTERN_CHARACTERS = 500
MAX_ALTERNATIVES = 64


class Glob:
    """`*.py` at any depth, `src/**/*.ts` from the folder that is searched, `*.{js,ts}` for either.

    Raises:
        WorkspaceError: an empty pattern, one of more than 500 characters or 64 alternatives.
    """

    def __init__(self, pattern: str) -> None:
        if not 0 < len(pattern.strip()) <= MAX_PATTERN_CHARACTERS:
            raise WorkspaceError(f"pattern {pattern[:60]!r} must have 1 to {MAX_PATTERN_CHARACTERS} characters")
        self._alternatives = [_segments(one) for one in _expanded(pattern)]

    def matches(self, path: str) -> bool:
        """Whether the pattern fits a path with forward slashes, relative to the folder that is searched."""
        parts = path.split("/")
        return any(_fits(segments, parts) for segments in self._alternatives)


def _segments(pattern: str) -> list[str]:
    folder = "**" if pattern.endswith("/") else ""
    pattern = pattern.removeprefix("./") + folder
    anywhere = "/" not in pattern.removesuffix("/**")
    return (["**"] if anywhere else []) + [part for part in pattern.split("/") if part]


def _expanded(pattern: str) -> list[str]:
    """One pattern per way through its braces."""
    patterns = [pattern]
    while any("{" in one for one in patterns):
        patterns = [way for one in patterns for way in _opened(one)]
        if len(patterns) > MAX_ALTERNATIVES:
            raise WorkspaceError(
                f"pattern {pattern!r} has more than {MAX_ALTERNATIVES} alternatives; use several calls"
            )
    return patterns


def _opened(pattern: str) -> Iterator[str]:
    """The innermost braces replaced by each of their alternatives; a brace without its partner is dropped."""
    inner = re.search(r"\{([^{}]*)\}", pattern)
    if inner is None:
        yield pattern.replace("{", "")
        return
    for way in inner[1].split(","):
        yield pattern[: inner.start()] + way + pattern[inner.end() :]


def _fits(segments: Sequence[str], parts: Sequence[str]) -> bool:
    reached = {0}
    """How many parts the segments so far can have used up."""
    for segment in segments:
        if segment == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            reached = {n + 1 for n in reached if n < len(parts) and fnmatchcase(parts[n], segment)}
        if not reached:
            return False
    return len(parts) in reached
