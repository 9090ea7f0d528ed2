"""What an edit changed: counts for the summary, a short unified diff for the result."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import takewhile

CONTEXT_LINES = 2
MAX_DIFF_LINES = 60
MAX_LINE_CHARACTERS = 300
MAX_COMPARED_LINES = 2_000
"""Comparing takes the square of the lines; a larger change is counted, not shown."""


@dataclass(frozen=True)
class Change:
    """Lines added and removed, and the diff as text without file headers."""

    added: int
    removed: int
    diff: str


def change(before: str, after: str) -> Change:
    """The change from one text to the other."""
    old, new = _lines(before), _lines(after)
    same = _common(old, new)
    tail = _common(old[same:][::-1], new[same:][::-1])
    a, b = old[same : len(old) - tail], new[same : len(new) - tail]
    if len(a) + len(b) > MAX_COMPARED_LINES:
        return Change(len(b), len(a), "(the change is too long to be shown)")
    start = max(0, same - CONTEXT_LINES)
    shown = [*_diff(old[start : len(old) - tail + CONTEXT_LINES], new[start : len(new) - tail + CONTEXT_LINES], start)]
    return Change(
        sum(line.startswith("+") for line in shown), sum(line.startswith("-") for line in shown), _shortened(shown)
    )


def _lines(text: str) -> list[str]:
    """With their endings, so that a change of the last one is seen."""
    return re.findall("[^\n]*\n|[^\n]+", text)


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _diff(old: Sequence[str], new: Sequence[str], start: int) -> Iterator[str]:
    lines = unified_diff(old, new, n=CONTEXT_LINES)
    for line in list(lines)[2:]:
        yield re.sub(r"(?<=[-+])\d+", lambda n: str(int(n[0]) + start), line) if line.startswith("@@") else line


def _shortened(lines: Sequence[str]) -> str:
    shown = [_cut(line.rstrip("\r\n")) for line in lines[:MAX_DIFF_LINES]]
    if len(lines) > MAX_DIFF_LINES:
        shown.append(f"(… {len(lines) - MAX_DIFF_LINES} more lines of diff)")
    return "\n".join(shown)


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + "…"
