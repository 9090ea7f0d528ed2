"""Every tool of a workspace in one list."""

from pathlib import Path
from typing import Literal

from langchain_core.tools import BaseTool

from longthread.tools.command import command_tool
from longthread.tools.files import file_tools
from longthread.tools.search import search_tools
from longthread.tools.workspace import Workspace

AllowCommands = Literal["ask", "always", "never"]


def workspace_tools(
    root: str | Path | Workspace, allow_commands: AllowCommands = "never", max_result_tokens: int = 10_000
) -> list[BaseTool]:
    """The tools for the files below `root`; `run_command` among them if `allow_commands` is `"ask"` or `"always"`.

    Raises:
        WorkspaceError: `root` is not a folder.
    """
    workspace = root if isinstance(root, Workspace) else Workspace(root)
    commands = [command_tool(workspace, allow_commands)] if allow_commands in ("ask", "always") else []
    return [*file_tools(workspace, max_result_tokens), *search_tools(workspace), *commands]
