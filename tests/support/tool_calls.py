"""Runs tool calls as the graph would: with call ids, the state passed in, the tracker merged."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from longthread.tools.tracker import FileRecord, find, forget_calls, merge_records


def tool_call(name: str, args: dict[str, Any], state: dict[str, Any], call_id: str) -> dict[str, Any]:
    """A call with the runtime that LangGraph's `ToolNode` would inject."""
    runtime = ToolRuntime(
        state=state, context=None, config={}, stream_writer=lambda _: None, tool_call_id=call_id, store=None
    )
    return {"type": "tool_call", "name": name, "id": call_id, "args": {**args, "runtime": runtime}}


class Session:
    """Tools over one tracker; each call has the id `c1`, `c2`, …"""

    def __init__(self, tools: Sequence[BaseTool], tracker: list[FileRecord] | None = None) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.tracker = tracker or []
        self.calls = 0

    def message(self, tool: str, **args: Any) -> ToolMessage:
        """The result of a call; what the tool raises is raised."""
        self.calls += 1
        state = {"messages": [], "tracker": self.tracker}
        return self._taken(self.tools[tool].invoke(tool_call(tool, args, state, f"c{self.calls}")))

    def text(self, tool: str, **args: Any) -> str:
        """The content of the result of a call."""
        return str(self.message(tool, **args).content)

    def record(self, path: str) -> FileRecord:
        """The record of a path that is tracked."""
        found = find(self.tracker, path)
        assert found is not None
        return found

    def forget(self, *calls: str) -> None:
        """As if the results of these calls had been pruned."""
        self.tracker = merge_records(self.tracker, [forget_calls(self.tracker, calls)])

    def _taken(self, result: Any) -> ToolMessage:
        if isinstance(result, Command):
            assert isinstance(result.update, dict)
            self.tracker = merge_records(self.tracker, [result.update.get("tracker", [])])
            [result] = result.update["messages"]
        assert isinstance(result, ToolMessage)
        assert "\n" not in result.additional_kwargs["summary"]
        return result
