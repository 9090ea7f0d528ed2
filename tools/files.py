"""The tools that read, write and edit files of the workspace, and keep the tracker.

Overwriting or editing asks for a record of the file with `known` and today's hash: the model has
seen the text, and it is still what stands on disk.
"""

from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from longthread.tools.changes import change
from longthread.tools.described import described
from longthread.tools.errors import WorkspaceError
from longthread.tools.filetext import decode_file, split_lines
from longthread.tools.replace import Replacement, encoded
from longthread.tools.tracker import Action, FileRecord, content_hash, find
from longthread.tools.view import show_path, view
from longthread.tools.workspace import Workspace

Runtime = ToolRuntime[Any, Any]


def file_tools(workspace: Workspace, max_result_tokens: int = 10_000) -> list[BaseTool]:
    """`read_file`, `write_file` and `edit_file` for one workspace; a read shows at most about `max_result_tokens`."""
    changing = [_write_file(workspace), _edit_file(workspace)]
    for each in changing:
        each.metadata = {"mutates": True}
    return [_read_file(workspace, max_result_tokens), *changing]


def _read_file(workspace: Workspace, max_result_tokens: int) -> BaseTool:
    @described
    @tool
    def read_file(path: str, runtime: Runtime, offset: int = 1, limit: int | None = None) -> Command[Any]:
        """Show a text file, each line behind its number and a tab. offset: first line; limit: number of lines.

        Use it before editing. Not to search: use grep.
        """
        lines = workspace.read_lines(path, offset, limit)
        content, summary = view(lines, max_result_tokens)
        return _result(runtime, "read_file", content, summary, _record(runtime, lines.path, lines.hash, "read"))

    return read_file


def _write_file(workspace: Workspace) -> BaseTool:
    @described
    @tool
    def write_file(path: str, content: str, runtime: Runtime) -> Command[Any]:
        """Create a file, or replace one that you have read. Folders are made. Not for small changes: use edit_file."""
        data, path = encoded(content), workspace.relative(path)
        with workspace.lock(path):
            _put(workspace, path, data, runtime)
        summary = f"wrote {show_path(path)} ({len(split_lines(content))} lines)"
        record = _record(runtime, path, content_hash(data), "written")
        return _result(runtime, "write_file", summary, summary, record)

    return write_file


def _edit_file(workspace: Workspace) -> BaseTool:
    @described
    @tool
    def edit_file(path: str, old: str, new: str, runtime: Runtime, replace_all: bool = False) -> Command[Any]:
        """Replace the exact text old by new in a file that you have read.

        old must stand there once, unless replace_all. Leave line numbers out of it. Not for new files.
        """
        path = workspace.relative(path)
        with workspace.lock(path):
            there = workspace.read_bytes(path)
            record = _seen(runtime, path)
            before, after = _edit(workspace, path, there, Replacement(old, new, replace_all), record["hash"])
        return _edited(runtime, path, before, after, record)

    return edit_file


def _put(workspace: Workspace, path: str, data: bytes, runtime: Runtime) -> None:
    """Write, unless the bytes stand there already: then a kill came between this write and its result."""
    if workspace.kind(path) is not None:
        there = workspace.read_bytes(path)
        if there == data:
            return
        if _seen(runtime, path)["hash"] != content_hash(there):
            raise _changed(path)
    workspace.write_bytes(path, data)


def _edit(workspace: Workspace, path: str, there: bytes, edit: Replacement, read: str) -> tuple[bytes, bytes]:
    """The bytes before and after; where a kill came between this edit and its result, nothing is written again."""
    if decode_file(path, there).lossy:
        raise WorkspaceError(f"{path!r} is not valid UTF-8 and cannot be edited; rewrite it or use a command")
    if content_hash(there) != read:
        before = edit.undo(there, read)
        if before is None:
            raise _changed(path)
        return before, there
    after = edit.apply(path, there)
    workspace.write_bytes(path, after)
    return there, after


def _edited(runtime: Runtime, path: str, before: bytes, after: bytes, record: FileRecord) -> Command[Any]:
    made = change(before.decode(), after.decode())
    summary = f"edited {show_path(path)} (+{made.added} -{made.removed})"
    now: FileRecord = {**record, "hash": content_hash(after), "action": "edited"}
    return _result(runtime, "edit_file", f"{summary}\n{made.diff}", summary, now)


def _seen(runtime: Runtime, path: str) -> FileRecord:
    """The record of a file whose text the model has before it."""
    record = find(runtime.state.get("tracker") or [], path)
    if record is None:
        raise WorkspaceError(f"{path!r} has not been read; read it with read_file before changing it")
    if not record["known"]:
        raise WorkspaceError(f"the text of {path!r} is no longer in the conversation; read it again before changing it")
    return record


def _changed(path: str) -> WorkspaceError:
    return WorkspaceError(f"{path!r} changed on disk since it was read; read it again, then repeat the change")


def _record(runtime: Runtime, path: str, digest: str, action: Action) -> FileRecord:
    return {"path": path, "hash": digest, "action": action, "call": runtime.tool_call_id or "", "known": True}


def _result(runtime: Runtime, name: str, content: str, summary: str, record: FileRecord) -> Command[Any]:
    message = ToolMessage(
        content, name=name, tool_call_id=runtime.tool_call_id or "", additional_kwargs={"summary": summary}
    )
    return Command(update={"messages": [message], "tracker": [record]})
