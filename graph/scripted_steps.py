"""The steps of a script: how they are written, and what becomes of them on the wire."""

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

_ARGUMENTS_AT_ONCE: Final = 24
"""Characters of a call's JSON in one chunk, so that a stream splits arguments as real ones do."""


class ScriptExhausted(LookupError):
    """A request came after the last step of the script."""


@dataclass(frozen=True)
class Broken:
    """An answer whose stream ends with an error; made by `broken`."""

    text: str
    error: BaseException


def call(name: str, id: str | None = None, /, **args: Any) -> ToolCall:
    """A call of a tool: `call("read_file", path="a.py")`. Without an id the model gives it one."""
    return ToolCall(name=name, args=args, id=id, type="tool_call")


def say(
    text: str = "", *calls: ToolCall, finish_reason: str | None = None, usage: UsageMetadata | None = None
) -> AIMessage:
    """A message with text and calls; `finish_reason="length"` for one that its output limit cut off."""
    metadata = {"finish_reason": finish_reason} if finish_reason else {}
    return AIMessage(text, tool_calls=list(calls), response_metadata=metadata, usage_metadata=usage)


def broken(text: str, error: BaseException) -> Broken:
    """A stream that gives the words of `text` and then raises; without streaming it only raises."""
    return Broken(text, error)


def scripted_tokens(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """What the model reports as tokens: a quarter of the characters, rounded up.

    Counted are of each message its type, its content (blocks as JSON) and its calls (name and
    arguments as JSON), and of each tool its schema as JSON.
    """
    characters = sum(map(_characters, messages)) + sum(len(json.dumps(tool)) for tool in tools)
    return math.ceil(characters / 4)


def _characters(message: BaseMessage) -> int:
    content = message.content if isinstance(message.content, str) else json.dumps(message.content)
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return len(message.type) + len(content) + sum(len(c["name"]) + len(json.dumps(c["args"])) for c in calls)


def as_answer(step: Any) -> AIMessage:
    """The message that a step stands for; errors and functions are the model's to handle."""
    if isinstance(step, AIMessage):
        return step
    if isinstance(step, str):
        return AIMessage(step)
    calls = [step] if isinstance(step, Mapping) else step
    if isinstance(calls, Sequence) and calls and all(isinstance(c, Mapping) and "name" in c for c in calls):
        return AIMessage("", tool_calls=list(calls))
    raise TypeError(f"a step must be a string, a message, calls made by call(...), or an error, not {step!r}")


def completed(step: Any, identity: str, model_name: str) -> AIMessage:
    """The step as a provider sends it: with ids and metadata. What the step brings itself stays."""
    answer = as_answer(step)
    calls = [{**c, "id": c["id"] or f"{identity}-{n}"} for n, c in enumerate(answer.tool_calls, start=1)]
    reason = "tool_calls" if calls or answer.invalid_tool_calls else "stop"
    metadata = {"model_name": model_name, "finish_reason": reason, **answer.response_metadata}
    return answer.model_copy(update={"id": answer.id or identity, "tool_calls": calls, "response_metadata": metadata})


class Progress:
    """Where a model and its bound copies are in their script."""

    def __init__(self) -> None:
        self.requests: list[list[BaseMessage]] = []
        self._raised: dict[int, int] = {}
        """How many steps raised since the answer of that number."""
        self._lock = threading.Lock()

    def advance(
        self, messages: Sequence[BaseMessage], prefix: str, start: int, position: Literal["calls", "history"]
    ) -> tuple[int, int]:
        """The index of the next step, and a number for its answer that no message of the request has."""
        newest = _newest(messages, prefix, start)
        with self._lock:
            made = start + len(self.requests)
            self.requests.append(list(messages))
            if position == "history":
                index = newest + self._raised.get(newest, 0)
                return index, index + 1
            return made, max(made, newest) + 1

    def count_raised(self, messages: Sequence[BaseMessage], prefix: str, start: int) -> None:
        """Remember that the step for this request raised, so that a retry takes the next one."""
        newest = _newest(messages, prefix, start)
        with self._lock:
            self._raised[newest] = self._raised.get(newest, 0) + 1


def _newest(messages: Sequence[BaseMessage], prefix: str, start: int) -> int:
    """The highest number among this script's answers in a request, else `start`."""
    numbered = re.compile(rf"{re.escape(prefix)}-(\d+)")
    found = (numbered.fullmatch(message.id or "") for message in messages if isinstance(message, AIMessage))
    return max((int(match[1]) for match in found if match), default=start)


def chunks(answer: AIMessage) -> Iterator[ChatGenerationChunk]:
    """The answer as a stream: its words, then its calls in pieces, then usage and metadata in the last chunk."""
    yield from words(answer)
    for index, made in enumerate(answer.tool_calls):
        arguments = json.dumps(made["args"], ensure_ascii=False)
        yield from _call_chunks(answer, index, made["name"], made["id"], arguments)
    for index, failed in enumerate(answer.invalid_tool_calls, start=len(answer.tool_calls)):
        yield from _call_chunks(answer, index, failed["name"], failed["id"], failed["args"] or "")
    yield _chunk(
        answer,
        response_metadata=answer.response_metadata,
        usage_metadata=answer.usage_metadata,
        chunk_position="last",
    )


def words(answer: AIMessage) -> Iterator[ChatGenerationChunk]:
    """The content alone, word by word; content of blocks in one piece."""
    if answer.additional_kwargs:
        yield _chunk(answer, additional_kwargs=answer.additional_kwargs)
    whole = answer.content
    for piece in re.findall(r"\S+\s*|\s+", whole) if isinstance(whole, str) else [whole]:
        yield _chunk(answer, content=piece)


def _call_chunks(
    answer: AIMessage, index: int, name: str | None, id: str | None, arguments: str
) -> Iterator[ChatGenerationChunk]:
    yield _chunk(answer, tool_call_chunks=[tool_call_chunk(name=name, args="", id=id, index=index)])
    for start in range(0, len(arguments), _ARGUMENTS_AT_ONCE):
        piece = arguments[start : start + _ARGUMENTS_AT_ONCE]
        yield _chunk(answer, tool_call_chunks=[tool_call_chunk(args=piece, index=index)])


def _chunk(answer: AIMessage, **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(**{"content": "", "id": answer.id, **fields}))
