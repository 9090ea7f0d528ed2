"""The wire format of OpenAI's chat completions: what a server refuses, and what it sends.

Refusals carry OpenAI's own wording, so that a history that a real server would not take fails here too.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

Body = dict[str, Any]
Call = tuple[str, dict[str, Any]]
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ROLES = {"system", "developer", "user", "assistant", "tool"}
PIECE = 7
"""Characters of a call's arguments in one event."""


@dataclass(frozen=True)
class Refusal:
    """A reply with an error status."""

    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def too_long(cls, tokens: int = 9_000, window: int = 8_192) -> Self:
        text = (
            f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} "
            "tokens. Please reduce the length of the messages."
        )
        return cls(400, text, code="context_length_exceeded")

    @classmethod
    def rate_limited(cls) -> Self:
        text = "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 342389."
        return cls(429, text, type="tokens", code="rate_limit_exceeded")

    def body(self) -> Body:
        return {"error": {"message": self.message, "type": self.type, "param": None, "code": self.code}}


@dataclass(frozen=True)
class Reply:
    """An answer, and how its stream behaves."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = None
    delay: float = 0.0
    """Seconds before each event."""
    cut_after: int | None = None
    """The connection closes after this many events."""
    raw: str | None = None
    """Sent in place of the last call's arguments, whatever it is."""
    ended_after: int | None = None
    """The stream ends cleanly after this many events, without `[DONE]`."""
    half_event_after: int | None = None
    """The stream ends inside the event after this many."""
    error_after: tuple[int, Refusal] | None = None
    """An error event after this many."""
    silent: bool = False
    """Nothing is ever sent."""

    @property
    def reason(self) -> str:
        return self.finish_reason or ("tool_calls" if self.calls else "stop")


def size(value: Any) -> int:
    """Tokens of a value: a quarter of the characters of its JSON."""
    return len(json.dumps(value)) // 4


def usage_of(body: Body, reply: Reply) -> Body:
    prompt = size(body["messages"]) + size(body.get("tools", []))
    completion = size([reply.text, reply.calls])
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def tool_calls(reply: Reply, number: int) -> list[Body]:
    written = [json.dumps(args) for _, args in reply.calls]
    if reply.raw is not None:
        written[-1] = reply.raw
    return [
        {"id": f"call_{number}_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, ((name, _), arguments) in enumerate(zip(reply.calls, written, strict=True), start=1)
    ]


def completion(reply: Reply, number: int, body: Body, usage: bool) -> Body:
    """The whole answer, for a request without `stream`."""
    calls = {"tool_calls": tool_calls(reply, number)} if reply.calls else {}
    message = {"role": "assistant", "content": reply.text or None, **calls}
    choice = {"index": 0, "message": message, "finish_reason": reply.reason, "logprobs": None}
    counted = {"usage": usage_of(body, reply)} if usage else {}
    return {**_head("chat.completion", number, body), "choices": [choice], **counted}


def events(reply: Reply, number: int, body: Body, usage: bool) -> Iterator[Body]:
    """The answer as events, without the closing `[DONE]`."""
    head = _head("chat.completion.chunk", number, body)

    def event(delta: Body, reason: str | None = None) -> Body:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield event({"role": "assistant", "content": ""})
    for word in re.findall(r"\S+\s*|\s+", reply.text):
        yield event({"content": word})
    for index, call in enumerate(tool_calls(reply, number)):
        arguments = call["function"].pop("arguments")
        yield event({"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]})
        for start in range(0, len(arguments), PIECE):
            piece = {"arguments": arguments[start : start + PIECE]}
            yield event({"tool_calls": [{"index": index, "function": piece}]})
    yield event({}, reply.reason)
    if usage and (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": usage_of(body, reply)}


def _head(kind: str, number: int, body: Body) -> Body:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_750_000_000, "model": body["model"]}


def fault(body: Body, system_first: bool = False) -> str | None:
    """What a real server would refuse in a request, in its words."""
    messages = body.get("messages")
    if not isinstance(body.get("model"), str):
        return "you must provide a model parameter"
    if not isinstance(messages, list) or not messages:
        return (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
        )
    if system_first and any(m.get("role") in ("system", "developer") for m in messages[1:]):
        return "System message must be at the beginning."
    shape = next((found for n, m in enumerate(messages) if (found := _message_fault(n, m))), None)
    return shape or _pairing_fault(messages) or _tools_fault(body)


def _message_fault(n: int, message: Any) -> str | None:
    role = message.get("role")
    if role not in ROLES:
        return f"Invalid value: {role!r}. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'."
    content = message.get("content")
    if not isinstance(content, str | list) and not (role == "assistant" and message.get("tool_calls")):
        return f"Invalid value for 'content': expected a string, got null. (messages[{n}])"
    if role == "tool" and isinstance(content, list) and any(part.get("type") != "text" for part in content):
        return (
            f"Invalid 'messages[{n}]'. Image URLs are only allowed for messages with role 'user', but this message "
            "with role 'tool' contains an image URL."
        )
    for call in message.get("tool_calls", ()):
        function = call.get("function", {})
        if not NAME.fullmatch(function.get("name") or ""):
            return f"Invalid 'messages[{n}].tool_calls.function.name': string does not match pattern."
        if not isinstance(function.get("arguments"), str):
            return f"Invalid type for 'messages[{n}].tool_calls.function.arguments': expected a string."
    return None


def _pairing_fault(messages: list[Body]) -> str | None:
    """Each call is answered once, by tool messages right after its own message, and nothing else is."""
    awaited: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in awaited:
                return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
            awaited.remove(message["tool_call_id"])
            continue
        if awaited:
            break
        awaited = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(awaited)) < len(awaited):
            return f"Duplicate value for 'tool_call_id' of {awaited}."
    if not awaited:
        return None
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(awaited)}"
    )


def _tools_fault(body: Body) -> str | None:
    functions = [tool.get("function", {}) for tool in body.get("tools", ())]
    names = [function.get("name") or "" for function in functions]
    if "tools" in body and not names:
        return "Invalid 'tools': empty array."
    if len(set(names)) < len(names):
        return f"Tool names must be unique, got {names}."
    wrong = [f["name"] for f in functions if f.get("parameters", {"type": "object"}).get("type") != "object"]
    if wrong or not all(map(NAME.fullmatch, names)):
        return f"Invalid schema for function {wrong or names}: schema must be a JSON Schema of 'type: \"object\"'."
    return "'parallel_tool_calls' is only allowed when 'tools' are specified." if _calls_without_tools(body) else None


def _calls_without_tools(body: Body) -> bool:
    return "tools" not in body and ("parallel_tool_calls" in body or "tool_choice" in body)
