"""What a model is told of our tools and how its arguments are taken."""

from inspect import cleandoc

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from longthread.tools.left_out import without_nulls


def described(tool: BaseTool) -> BaseTool:
    """The tool, its description without the indentation of the code: each space is a request's token.

    `null` for an optional argument counts as left out.
    """
    tool.description = cleandoc(tool.description)
    if isinstance(tool.args_schema, type) and issubclass(tool.args_schema, BaseModel):
        tool.args_schema = without_nulls(tool.args_schema)
    return tool
