"""The files that are read back in, as they are now, within their marks."""

from collections.abc import Sequence
from dataclasses import dataclass

from longthread.tools.cut import cut_end
from longthread.tools.errors import WorkspaceError
from longthread.tools.tokens import count_text
from longthread.tools.worker import Mark
from longthread.tools.workspace import Workspace

SMALLEST_PART = 200
"""Tokens below which a part of a file is not worth reading in."""


@dataclass(frozen=True)
class ReadIn:
    """A stretch of a file for the new context; `reason` says why there is none."""

    path: str
    text: str = ""
    hash: str = ""
    lines: tuple[int, int] | None = None
    note: str = ""
    reason: str = ""


def read_marked(workspace: Workspace | None, marks: Sequence[Mark], scale: float) -> list[ReadIn]:
    """What the marks stand for, read again; each within the tokens of its mark."""
    if workspace is None:
        return []
    return [_read(workspace, mark, scale) for mark in merged(workspace, marks)]


def _read(workspace: Workspace, mark: Mark, scale: float) -> ReadIn:
    try:
        found = workspace.read_lines(mark["path"], mark["offset"], mark["limit"])
    except (WorkspaceError, OSError) as error:
        return ReadIn(mark["path"], reason=str(error))
    text = "\n".join(found.lines)
    whole = found.first == 1 and found.last == found.total
    limit = max(1, round(mark["tokens"] / scale))
    if count_text(text) <= limit:
        return ReadIn(found.path, text, found.hash, None if whole else (found.first, found.last))
    shown = _whole_lines(text, limit)
    last = found.first + shown.count("\n")
    note = f"[Cut to what was budgeted for it; the file has {found.total} lines. read_file shows the rest.]"
    return ReadIn(found.path, shown, found.hash, (found.first, last), note)


def _whole_lines(text: str, tokens: int) -> str:
    """The beginning within `tokens` tokens; where not even one line fits, a part of it."""
    cut = cut_end(text, tokens)
    return cut.rpartition("\n")[0] or cut


def merged(workspace: Workspace, marks: Sequence[Mark]) -> list[Mark]:
    """Overlapping or touching marks of one file as one; files in the order of their first mark."""
    by_file: dict[str, list[Mark]] = {}
    for mark in marks:
        by_file.setdefault(_real(workspace, mark["path"]), []).append(mark)
    return [mark for path, group in by_file.items() for mark in _merge(path, sorted(group, key=lambda m: m["offset"]))]


def _real(workspace: Workspace, path: str) -> str:
    try:
        return workspace.relative(path)
    except WorkspaceError:
        return path


def _merge(path: str, marks: Sequence[Mark]) -> list[Mark]:
    kept: list[Mark] = []
    for mark in marks:
        end = _end(kept[-1]) if kept else 0
        if not kept or (end is not None and mark["offset"] > end):
            kept.append({**mark, "path": path})
            continue
        last, other = kept[-1], _end(mark)
        limit = None if end is None or other is None else max(end, other) - last["offset"]
        kept[-1] = {**last, "limit": limit, "tokens": last["tokens"] + mark["tokens"]}
    return kept


def _end(mark: Mark) -> int | None:
    """The line after the last one; `None` for the rest of the file."""
    return None if mark["limit"] is None else mark["offset"] + mark["limit"]


def marks_by_recency(workspace: Workspace | None, paths: Sequence[str], budget: int, scale: float) -> list[Mark]:
    """Marks for the most recent files within `budget` tokens, for a worker that marked nothing."""
    marks: list[Mark] = []
    for path in paths if workspace else ():
        tokens = _tokens(workspace, path, scale)
        left = budget - sum(mark["tokens"] for mark in marks)
        if tokens and min(tokens, left) >= min(tokens, SMALLEST_PART):
            marks.append(Mark(path=path, offset=1, limit=None, tokens=min(tokens, left)))
    return marks


def _tokens(workspace: Workspace | None, path: str, scale: float) -> int:
    try:
        return round(count_text(workspace.read_text(path).text) * scale) if workspace else 0
    except (WorkspaceError, OSError):
        return 0
