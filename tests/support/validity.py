"""What a provider accepts, as assertions over a request's messages."""

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from longthread.tools.results import CALLS, text_of

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def assert_valid(request: Sequence[BaseMessage]) -> None:
    """An OpenAI-compatible server takes it: results right after their calls, in order, none missing, none over."""
    at = 0
    seen: set[str] = set()
    while at < len(request):
        message = request[at]
        assert isinstance(message, SystemMessage | HumanMessage | AIMessage), f"{message!r} answers no call"
        calls = _sound_calls(message) if isinstance(message, AIMessage) else []
        results = request[at + 1 : at + 1 + len(calls)]
        assert all(NAME.fullmatch(result.name) for result in results if result.name is not None)
        assert [m.tool_call_id for m in results if isinstance(m, ToolMessage)] == calls
        assert not seen & set(calls), f"ids used twice: {calls!r}"
        assert len(set(calls)) == len(calls)
        seen.update(calls)
        at += 1 + len(calls)


def _sound_calls(message: AIMessage) -> list[str]:
    assert not message.invalid_tool_calls, "arguments that are no JSON break chat templates"
    assert message.tool_calls or text_of(message).strip(), f"an assistant message that says nothing: {message!r}"
    assert all(NAME.fullmatch(call["name"]) and call["id"] for call in message.tool_calls)
    ids = [call["id"] or "" for call in message.tool_calls]
    for block in message.content:
        if isinstance(block, dict) and block.get("type") in CALLS:
            assert block.get("call_id", block.get("id")) in ids
            assert NAME.fullmatch(block.get("name", "none"))
    return ids


def assert_valid_strict(request: Sequence[BaseMessage]) -> None:
    """Anthropic, Google and strict chat templates take it too: system first only, then a user, no blank text."""
    assert_valid(request)
    spoken = [message for message in request if not isinstance(message, SystemMessage)]
    assert len(request) - len(spoken) <= 1
    assert request[-len(spoken) :] == spoken or not spoken
    assert not spoken or isinstance(spoken[0], HumanMessage)
    for message in request:
        _assert_no_blank_text(message)


def _assert_no_blank_text(message: BaseMessage) -> None:
    if isinstance(message.content, list):
        assert all(_text_of(block).strip() for block in message.content), message
    elif not isinstance(message, ToolMessage):
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        assert message.content.strip() or (calls and not message.content), message


def _text_of(block: str | dict[str, Any]) -> str:
    assert isinstance(block, dict), "a bare string among blocks breaks OpenAI's Responses API"
    return str(block["text"]) if block.get("type") == "text" else "other data"


def wire(request: Sequence[BaseMessage]) -> list[Any]:
    """Role, content and calls of each message: what is compared when requests must be prefixes of one another."""
    return [
        (
            m.type,
            m.content,
            getattr(m, "tool_calls", None),
            getattr(m, "tool_call_id", None),
            getattr(m, "status", None),
        )
        for m in request
    ]
