"""Matches as the model reads them: the path once, then its lines with their numbers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from longthread.tools.errors import WorkspaceError
from longthread.tools.grep import Hit, SearchTimeout
from longthread.tools.text import clean
from longthread.tools.view import show_path
from longthread.tools.workspace import Workspace

MAX_HITS = 200
MAX_CONTEXT = 20
MAX_LINE_CHARACTERS = 300
BEFORE_MATCH = 100
"""Of a longer line, this many characters before the match are shown."""


@dataclass
class Found:
    """What has been found so far: text, numbers and notes."""

    blocks: list[str] = field(default_factory=list)
    hits: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """One block per file, then the notes."""
        return "\n".join([*self.blocks, *self.notes])


def show(workspace: Workspace, matches: Iterable[tuple[str, Sequence[Hit]]], context: int = 0) -> Found:
    """At most 200 matching lines with `context` lines around them: `12:` before a match, `13-` before the rest.

    What cannot be read as text is passed over.
    """
    found = Found()
    try:
        for path, hits in matches:
            room = MAX_HITS - found.hits
            _add(workspace, path, hits[:room], min(max(context, 0), MAX_CONTEXT), found)
            if len(hits) > room:
                found.notes.append(f"[stopped at {MAX_HITS} matches; narrow pattern, path or glob to see the others]")
                break
    except SearchTimeout as late:
        found.notes.append(f"[{late}]")
    return found


def _add(workspace: Workspace, path: str, hits: Sequence[Hit], context: int, found: Found) -> None:
    try:
        lines = workspace.read_text(path).lines
    except WorkspaceError:
        return
    columns = {hit.line: hit.column for hit in hits if hit.line <= len(lines)}
    if columns:
        found.hits += len(columns)
        found.blocks += [show_path(path), *_lines(lines, columns, context)]


def _lines(lines: Sequence[str], columns: dict[int, int], context: int) -> Iterator[str]:
    """With context, `--` stands where lines are left out."""
    wanted = {near for n in columns for near in range(max(1, n - context), min(len(lines), n + context) + 1)}
    last = None
    for number in sorted(wanted):
        if context and last is not None and number > last + 1:
            yield "--"
        mark = ":" if number in columns else "-"
        yield f"{number}{mark}{_window(clean(lines[number - 1]), columns.get(number, 1))}"
        last = number


def _window(line: str, column: int) -> str:
    """The part of a long line around its match; `column` is in bytes."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    before = len(line.encode()[: column - 1].decode(errors="replace"))
    start = max(0, before - BEFORE_MATCH)
    end = start + MAX_LINE_CHARACTERS
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
