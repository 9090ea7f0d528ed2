"""A tool's output as it goes into the history: clean, within bounds, identified, summarised, tracked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from longthread.tools.cut import cut_middle
from longthread.tools.errors import WorkspaceError
from longthread.tools.results import summary_of
from longthread.tools.text import as_text, storable, storable_dict
from longthread.tools.tokens import count_text
from longthread.tools.tracker import Action, FileRecord
from longthread.tools.workspace import Workspace

Tracked = Mapping[str, str | tuple[str, str]]
"""Tool name → the argument that holds its path, and what it does if not reading."""


@dataclass(frozen=True)
class Finisher:
    """Finishes every result of this agent's tools."""

    max_result_tokens: int = 10_000
    tracked: Tracked = field(default_factory=dict)
    workspace: Workspace | None = None

    def finish(self, result: ToolMessage | Command[Any] | list[Any], request: ToolCallRequest) -> Any:
        """The tool's message or command with its own result finished; other parts stay as they are."""
        if isinstance(result, list):
            return [self.finish(part, request) for part in result]
        if isinstance(result, ToolMessage):
            message = self._finished(result, request)
            records = self._records(message, request)
            return Command(update={"messages": [message], "tracker": records}) if records else message
        if isinstance(result.update, dict) and result.update.get("messages"):
            messages = [self._finish_own(m, request) for m in result.update["messages"]]
            return Command(
                graph=result.graph,
                goto=result.goto,
                resume=result.resume,
                update={**result.update, "messages": messages},
            )
        return result

    def _finish_own(self, message: Any, request: ToolCallRequest) -> Any:
        own = isinstance(message, ToolMessage) and message.tool_call_id == request.tool_call["id"]
        return self._finished(message, request) if own else message

    def _finished(self, message: ToolMessage, request: ToolCallRequest) -> ToolMessage:
        content = self._content(message.content)
        extra = storable_dict(message.additional_kwargs)
        shaped = message.model_copy(
            update={
                "content": content,
                "additional_kwargs": extra,
                "artifact": storable(message.artifact),
                "id": result_id(request.state.get("messages", []), request.tool_call["id"] or ""),
            }
        )
        extra["summary"] = summary_of(shaped)
        return shaped

    def _content(self, content: str | list[Any]) -> str | list[Any]:
        if isinstance(content, str):
            return self._within(as_text(content))
        return [self._block(block) for block in content]

    def _block(self, block: Any) -> Any:
        block = storable(block)
        if isinstance(block, str):
            return self._within(block)
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            return {**block, "text": self._within(block["text"])}
        return block

    def _within(self, text: str) -> str:
        short = len(text) <= self.max_result_tokens
        if short or (len(text) < self.max_result_tokens * 20 and count_text(text) <= self.max_result_tokens):
            return text
        return cut_middle(text, self.max_result_tokens, "ask the tool for a smaller part to see the rest")

    def _records(self, message: ToolMessage, request: ToolCallRequest) -> list[FileRecord]:
        spec = self.tracked.get(request.tool_call["name"])
        if spec is None or message.status == "error":
            return []
        argument, action = (spec, "read") if isinstance(spec, str) else spec
        path = request.tool_call["args"].get(argument)
        if not isinstance(path, str):
            return []
        path, digest = self._identify(path)
        record = FileRecord(
            path=path, hash=digest, action=cast("Action", action), call=request.tool_call["id"] or "", known=True
        )
        return [record]

    def _identify(self, path: str) -> tuple[str, str]:
        """The path as the tracker names it, and the hash of its content where it lies in the workspace."""
        if self.workspace is None:
            return path, ""
        try:
            return self.workspace.relative(path), self.workspace.read_text(path).hash
        except WorkspaceError:
            return path, ""


def result_id(messages: Sequence[AnyMessage], call_id: str) -> str:
    """A result's id follows from its assistant message and call, so that a call run twice stands once."""
    asked = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    return f"{asked.id if asked else ''}:{call_id}"
