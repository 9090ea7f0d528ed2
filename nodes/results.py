"""A tool's output as it goes into the history: clean, within bounds, identified, summarised, tracked."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from longthread.nodes.history.speakers import last_answer
from longthread.tools.cut import cut_middle
from longthread.tools.errors import WorkspaceError
from longthread.tools.results import summary_of
from longthread.tools.text import as_text, storable, storable_dict
from longthread.tools.tokens import count_text
from longthread.tools.tracker import Action, FileRecord
from longthread.tools.workspace import Workspace

TOOL = "tool"
"""The source of messages that a tool adds beside its result."""
DIRECT = "return_direct"
"""Marks the result of a tool whose results are the answer, for whoever reads the thread without the tools."""
Tracked = Mapping[str, str | tuple[str, str]]
"""Tool name → the argument that holds its path, and what it does if not reading."""


@dataclass(frozen=True)
class Finisher:
    """Finishes every result of this agent's tools."""

    max_result_tokens: int = 10_000
    tracked: Tracked = field(default_factory=dict)
    workspace: Workspace | None = None

    def finish(self, result: ToolMessage | Command[Any] | list[Any], request: ToolCallRequest) -> Any:
        """The tool's message or command with its own result finished; other parts of it stay as they are.

        Messages that the tool adds beside its result are marked as the tool's, so that none passes
        for the user's.
        """
        if isinstance(result, list):
            return [self.finish(part, request) for part in result]
        if isinstance(result, ToolMessage):
            message = self._finished(result, request)
            records = self._records(message, request)
            return Command(update={"messages": [message], "tracker": records}) if records else message
        if result.graph is None and (said := _without_result(result)):
            alone = ToolMessage(said, tool_call_id=request.tool_call["id"], status=_status(said))
            return replace(result, update={"messages": [self._finished(alone, request)]})
        if isinstance(result.update, dict) and result.update.get("messages"):
            return replace(result, update=self._update(result.update, request))
        return result

    def _update(self, update: dict[str, Any], request: ToolCallRequest) -> dict[str, Any]:
        known = {message.id for message in request.state.get("messages", [])}
        given = convert_to_messages(update["messages"])
        messages = [self._part(message, known, request) for message in given]
        own = [m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == request.tool_call["id"]]
        if records := [record for message in own for record in self._records(message, request)]:
            return {**update, "messages": messages, "tracker": [*records, *update.get("tracker", [])]}
        return {**update, "messages": messages}

    def _part(self, message: BaseMessage, known: Collection[str | None], request: ToolCallRequest) -> BaseMessage:
        if isinstance(message, ToolMessage) and message.tool_call_id == request.tool_call["id"]:
            return self._finished(message, request)
        if isinstance(message, RemoveMessage) or (message.id and message.id in known):
            return message
        return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, "source": TOOL}})

    def _finished(self, message: ToolMessage, request: ToolCallRequest) -> ToolMessage:
        content = self._content(message.content)
        extra = storable_dict(message.additional_kwargs)
        shaped = message.model_copy(
            update={
                "content": content,
                "additional_kwargs": extra,
                "artifact": storable(message.artifact),
                "name": request.tool_call["name"],
                "tool_call_id": request.tool_call["id"],
                "id": result_id(request.state.get("messages", []), request.tool_call["id"] or ""),
            }
        )
        extra["summary"] = summary_of(shaped)
        if request.tool and request.tool.return_direct:
            extra[DIRECT] = True
        return shaped

    def _content(self, content: str | list[Any]) -> str | list[Any]:
        if isinstance(content, str):
            return within(as_text(content), self.max_result_tokens)
        return list(self._blocks(content))

    def _blocks(self, content: list[Any]) -> Iterator[Any]:
        """The blocks; their texts share the limit, first come, first served."""
        left = self.max_result_tokens
        for block in map(storable, content):
            text = block.get("text") if isinstance(block, dict) else block
            if not isinstance(text, str):
                yield block
                continue
            text = within(text, left)
            left = max(0, left - count_text(text))
            yield {**block, "text": text} if isinstance(block, dict) else text

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


def _without_result(command: Command[Any]) -> str:
    """What stands for the result of a command that cannot have one; empty where the command has its own.

    Without any result the call would be sent again and again.
    """
    if command.update and not isinstance(command.update, dict):
        kind = type(command.update).__name__
        return f"Error: the tool returned a Command whose update is a {kind}, not a dict of state keys; it was dropped."
    return "" if command.update else "(no output)"


def _status(said: str) -> Literal["error", "success"]:
    return "error" if said.startswith("Error") else "success"


def within(text: str, tokens: int) -> str:
    """The text, its middle left out where it has more tokens than that."""
    short = len(text) <= tokens
    if short or (len(text) < tokens * 20 and count_text(text) <= tokens):
        return text
    return cut_middle(text, tokens, "ask the tool for a smaller part to see the rest")


def result_id(messages: Sequence[AnyMessage], call_id: str) -> str:
    """A result's id follows from its assistant message and call, so that a call run twice stands once."""
    asked = last_answer(messages)
    return f"{asked.id if asked else ''}:{call_id}"
