"""Tools bound to a model so that the part of a request that stays the same is cached, where that must be asked for.

Only Anthropic must be asked; OpenAI and Google cache a repeated prefix by themselves.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from longthread.graph.models import takes_cache_marks
from longthread.nodes.call_model import Model
from longthread.nodes.history.cache_marks import MARK


def bind(model: BaseChatModel, tools: Sequence[BaseTool | dict[str, Any]]) -> Model:
    """The model with these tools; for Anthropic with a mark on the last tool, and one that follows the request's end.

    The latter is the top-level `cache_control`, which langchain-anthropic puts on the last block
    where a transport does not know it.
    """
    if not takes_cache_marks(model):
        return model.bind_tools(tools)
    *others, last = map(_unmarked, tools)
    return model.bind_tools([*others, _marked(last)], cache_control=dict(MARK))


def _marked(tool: BaseTool | dict[str, Any]) -> BaseTool | dict[str, Any]:
    if isinstance(tool, BaseTool):
        return tool.model_copy(update={"extras": {**(tool.extras or {}), "cache_control": dict(MARK)}})
    function = convert_to_openai_tool(tool)["function"]
    # In Anthropic's own form: the conversion from OpenAI's would drop the mark.
    described = {"name": function["name"], "description": function.get("description", "")}
    return {**described, "input_schema": function["parameters"], "cache_control": dict(MARK)}


def _unmarked(tool: BaseTool | dict[str, Any]) -> BaseTool | dict[str, Any]:
    """Marks of the user's own would add up with ours beyond the four that Anthropic takes."""
    if not isinstance(tool, BaseTool) or "cache_control" not in (tool.extras or {}):
        return tool
    extras = {key: value for key, value in (tool.extras or {}).items() if key != "cache_control"}
    return tool.model_copy(update={"extras": extras})
