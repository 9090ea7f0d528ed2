"""Descriptions of tools, taken from their docstrings."""

from inspect import cleandoc

from langchain_core.tools import BaseTool


def described(tool: BaseTool) -> BaseTool:
    """The tool, its description without the indentation of the code: each space is a request's token."""
    tool.description = cleandoc(tool.description)
    return tool
