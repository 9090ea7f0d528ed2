"""What a run changed on disk: files compared before and after, those that commands changed among them."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from longthread.graph.cli.events import Event
from longthread.tools.changes import change
from longthread.tools.errors import WorkspaceError
from longthread.tools.ignore import walk
from longthread.tools.workspace import Workspace

WATCHED = 5_000
"""Files whose size and time are looked at. In a larger workspace only what the file tools touch is seen."""
CHANGING = ("write_file", "edit_file")


@dataclass(frozen=True)
class FileChange:
    """One changed file; `added` and `removed` are lines, `None` where the text before is not known."""

    path: str
    change: Literal["added", "modified", "deleted"]
    added: int | None = None
    removed: int | None = None


class DiskWatch:
    """Remembers the files of a workspace as they are when it is made; the thread store is none of them."""

    def __init__(self, workspace: Workspace, store: str = "") -> None:
        self._workspace = workspace
        self._store = os.path.realpath(store) if store else ""
        self._stamps = self._looked_at()
        self._before: dict[str, bytes | None] = {}

    def about_to_change(self, calls: Iterable[Mapping[str, Any]]) -> None:
        """Keep the content of the files that these calls will change, as it is before the first of them."""
        for call in calls:
            path = call["args"].get("path")
            if call["name"] in CHANGING and isinstance(path, str):
                with suppress(WorkspaceError):
                    path = self._workspace.relative(path)
                    if path not in self._before:
                        self._before[path] = self._content(path)

    def changes(self) -> list[FileChange]:
        """What is different now, by path."""
        found = (self._compared(path) for path in sorted(self._stamped_anew() | set(self._before)))
        return [each for each in found if each]

    def event(self) -> Event:
        """The changes as an event."""
        return {"event": "changes", "files": [vars(each) for each in self.changes()]}

    def _stamped_anew(self) -> set[str]:
        before, now = self._stamps, self._looked_at()
        if before is None or now is None:
            return set()
        return {path for path in {*before, *now} if before.get(path) != now.get(path)}

    def _looked_at(self) -> dict[str, tuple[int, int]] | None:
        paths = list(islice(walk(self._workspace), WATCHED + 1))
        stamps: dict[str, tuple[int, int]] = {}
        for path in paths:
            with suppress(OSError):
                found = os.lstat(self._workspace.root / path)
                if not self._is_store(self._workspace.root / path):
                    stamps[path] = (found.st_mtime_ns, found.st_size)
        return stamps if len(paths) <= WATCHED else None

    def _is_store(self, path: Path) -> bool:
        """The thread store, or a file that SQLite or the lock puts beside it."""
        real = os.path.realpath(path)
        return bool(self._store) and (real == self._store or real.startswith((f"{self._store}-", f"{self._store}.")))

    def _content(self, path: str) -> bytes | None:
        try:
            return self._workspace.read_bytes(path)
        except WorkspaceError:
            return None

    def _compared(self, path: str) -> FileChange | None:
        now = self._content(path)
        if path not in self._before:
            return self._unknown_before(path, now)
        before = self._before[path]
        if before == now:
            return None
        kind: Any = "added" if before is None else "deleted" if now is None else "modified"
        lines = change((before or b"").decode(errors="replace"), (now or b"").decode(errors="replace"))
        return FileChange(path, kind, lines.added, lines.removed)

    def _unknown_before(self, path: str, now: bytes | None) -> FileChange:
        if path not in (self._stamps or {}):
            return FileChange(path, "added", len((now or b"").decode(errors="replace").splitlines()), 0)
        there = os.path.lexists(self._workspace.root / path)
        return FileChange(path, "modified" if there else "deleted")
