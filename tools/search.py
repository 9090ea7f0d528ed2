"""The tools that find files and text in the workspace, ignore files respected."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime

from longthread.tools.described import described
from longthread.tools.found import show
from longthread.tools.globs import Glob
from longthread.tools.grep import Query, search
from longthread.tools.listing import list_paths
from longthread.tools.text import one_line
from longthread.tools.view import show_path
from longthread.tools.workspace import Workspace

MAX_ENTRIES = 500
Runtime = ToolRuntime[Any, Any]


def search_tools(workspace: Workspace, grep_seconds: float = 20.0) -> list[BaseTool]:
    """`list_files` and `grep` for one workspace; a search that takes longer than `grep_seconds` is cut off."""
    return [_list_files(workspace), _grep(workspace, grep_seconds)]


def _list_files(workspace: Workspace) -> BaseTool:
    @described
    @tool
    def list_files(runtime: Runtime, path: str = ".", pattern: str | None = None) -> ToolMessage:
        """List a folder, or with pattern every file below it that fits: "*.py", "src/**/*.ts".

        Use it to find files by name. Ignored files are left out. For text in files: grep.
        """
        folder = workspace.relative(path)
        below = _below(folder, list_paths(workspace, folder))
        glob = Glob(pattern) if pattern else None
        shown = [name for name in below if glob.matches(name)] if glob else _children(below)
        kind = f"files for {pattern!r}" if pattern else "entries"
        summary = f"listed {show_path(folder)}: {len(shown)} {kind}"
        return _message(runtime, "list_files", _capped(shown) or f"no {kind} (ignored files are not listed)", summary)

    return list_files


def _grep(workspace: Workspace, seconds: float) -> BaseTool:
    @described
    @tool
    def grep(
        pattern: str,
        runtime: Runtime,
        path: str = ".",
        glob: str | None = None,
        ignore_case: bool = False,
        context: int = 0,
    ) -> ToolMessage:
        """Search text line by line with a regular expression, in a folder or one file. For names: list_files.

        glob: only such files. context: lines around each match. Ignored and binary files are left out.
        """
        query = Query(pattern, ignore_case)
        paths = _searched(workspace, path, Glob(glob) if glob else None)
        found = show(workspace, search(workspace.root, paths, query, seconds), context)
        content = found.text or f"no match in {len(paths)} files (ignored, binary and huge files are not searched)"
        return _message(runtime, "grep", content, f"grep {pattern!r} in {show_path(path)}: {found.hits} matches")

    return grep


def _searched(workspace: Workspace, path: str, glob: Glob | None) -> list[str]:
    """A file that is named is searched, ignored or not."""
    inside = workspace.relative(path)
    if workspace.kind(inside) == "file":
        return [inside]
    paths = list_paths(workspace, inside)
    names = _below(inside, paths)
    return [each for each, name in zip(paths, names, strict=True) if glob is None or glob.matches(name)]


def _below(folder: str, paths: Sequence[str]) -> list[str]:
    return list(paths) if folder == "." else [path.removeprefix(folder + "/") for path in paths]


def _children(names: Sequence[str]) -> list[str]:
    """What lies in the folder itself: its folders, with a slash, then its files."""
    folders = {name.partition("/")[0] + "/" for name in names if "/" in name}
    return [*sorted(folders), *(name for name in names if "/" not in name)]


def _capped(names: Sequence[str]) -> str:
    lines = [show_path(name) for name in names[:MAX_ENTRIES]]
    if len(names) > MAX_ENTRIES:
        lines.append(f"[{len(names) - MAX_ENTRIES} more; narrow path or pattern]")
    return "\n".join(lines)


def _message(runtime: Runtime, name: str, content: str, summary: str) -> ToolMessage:
    extra = {"summary": one_line(summary, 300)}
    return ToolMessage(content, name=name, tool_call_id=runtime.tool_call_id or "", additional_kwargs=extra)
