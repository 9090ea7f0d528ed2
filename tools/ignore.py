"""The files of a folder that no `.gitignore` excludes, found without git."""

from collections.abc import Iterator, Sequence
from posixpath import dirname, join

from pathspec import GitIgnoreSpec

from longthread.tools.errors import WorkspaceError
from longthread.tools.workspace import Workspace

ALWAYS_LEFT_OUT = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
MAX_STARS = 5
"""A line with more wildcards is passed over: matching it could take for ever."""
Rules = tuple[str, GitIgnoreSpec]
"""The folder that the rules stand in (`.` for the root), and the rules."""


def walk(workspace: Workspace, folder: str = ".") -> Iterator[str]:
    """Files and links below a folder, by their paths from the root; folders that are links are not entered.

    Rules of the folders above count too, unless they exclude the very folder that is asked for.
    """
    above = [rules for each in _folders_above(folder) for rules in _rules(workspace, each)]
    if folder != "." and _excluded(above, folder + "/"):
        above = []
    stack = [(folder, above)]
    while stack:
        here, rules = stack.pop()
        rules = [*rules, *_rules(workspace, here)]
        try:
            entries = workspace.entries(here)
        except WorkspaceError:
            continue  # No permission, or gone meanwhile.
        for name, kind in entries:
            path = name if here == "." else join(here, name)
            if kind == "folder" and name not in ALWAYS_LEFT_OUT and not _excluded(rules, path + "/"):
                stack.append((path, rules))
            elif kind in ("file", "link") and not _excluded(rules, path):
                yield path


def _folders_above(folder: str) -> list[str]:
    """From the root down, the folder itself left out."""
    above: list[str] = []
    while folder != ".":
        folder = dirname(folder) or "."
        above.insert(0, folder)
    return above


def _rules(workspace: Workspace, folder: str) -> list[Rules]:
    try:
        lines = workspace.read_text(join(folder, ".gitignore")).lines
        return [(folder, GitIgnoreSpec.from_lines(line for line in lines if line.count("*") <= MAX_STARS))]
    except (WorkspaceError, ValueError):
        return []


def _excluded(rules: Sequence[Rules], path: str) -> bool:
    """The nearest rule that says something decides."""
    for folder, spec in reversed(rules):
        inside = path if folder == "." else path.removeprefix(folder + "/")
        if (verdict := spec.check_file(inside).include) is not None:
            return verdict
    return False
