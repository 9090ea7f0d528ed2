"""The files of the workspace that are worth seeing: those that git would show, else by ignore files."""

import os
import stat
import subprocess
from collections.abc import Iterator
from itertools import islice
from posixpath import dirname, join

from longthread.tools.errors import WorkspaceError
from longthread.tools.ignore import walk
from longthread.tools.workspace import Workspace

GIT_SECONDS = 10.0
MAX_FILES = 100_000
MAX_NESTED = 20
# A repository may come from a stranger: nothing that its settings name is run or fetched.
_GIT = ("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_LIST = ("ls-files", "-co", "--exclude-standard", "-z")


def list_paths(workspace: Workspace, path: str = ".") -> list[str]:
    """Files and links below a folder, from the root, sorted; at most 100 000.

    A folder that git shows nothing of (no repository, no git, or itself ignored) is walked.

    Raises:
        WorkspaceError: the path is missing or is no folder.
    """
    folder = require_folder(workspace, path)
    found = _by_git(str(workspace.root), folder, MAX_NESTED) or islice(walk(workspace, folder), MAX_FILES)
    return sorted(found)[:MAX_FILES]


def require_folder(workspace: Workspace, path: str) -> str:
    """The path from the root, if a folder lies there; `WorkspaceError` otherwise."""
    folder = workspace.relative(path)
    kind = workspace.kind(folder)
    if kind not in ("folder", None):
        raise WorkspaceError(f"{folder!r} is a file, not a folder; show it with read_file")
    if kind is None:
        workspace.entries(folder)  # Raises what is wrong, with similar names.
    return folder


def _by_git(root: str, folder: str, nested: int) -> set[str]:
    """What git lists, if it still lies there; a folder that has become a link since is not looked into."""
    paths = [_joined(folder, name.rstrip("/")) for name in _git_names(os.path.join(root, folder))]
    folders = {dirname(path) for path in paths}
    plain = {
        each for each in folders if os.path.realpath(os.path.join(root, each)) == os.path.join(root, each).rstrip("/")
    }
    return {found for path in paths if dirname(path) in plain for found in _present(root, path, nested)}


def _git_names(folder: str) -> list[str]:
    try:
        listed = subprocess.run(
            [*_GIT, *_LIST], cwd=folder, env=_git_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=GIT_SECONDS, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name][:MAX_FILES]


def _present(root: str, path: str, nested: int) -> Iterator[str]:
    """The path, if it is still there; the files in it, if it is a repository inside the repository."""
    try:
        mode = os.lstat(os.path.join(root, path)).st_mode
    except OSError:
        return
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        yield path
    elif stat.S_ISDIR(mode) and nested:
        yield from _by_git(root, path, nested - 1)


def _git_environment() -> dict[str, str]:
    """Without what points git elsewhere (set inside hooks), and without the network."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}


def _joined(folder: str, name: str) -> str:
    return name if folder == "." else join(folder, name)
