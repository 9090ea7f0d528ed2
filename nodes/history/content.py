"""Content as every provider accepts it: no blank text, and no block of a call that the message does not list."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolCall

from longthread.tools.results import CALLS, text_of

Content = str | list[Any]


def is_empty(message: BaseMessage) -> bool:
    """The message says nothing: no text, no image, no other data (calls are not looked at)."""
    return not text_of(message).strip()


def sound_content(content: Content) -> Content:
    """The content without blank text, which Anthropic refuses, its bare strings among blocks as text blocks.

    On a bare string among blocks langchain-openai fails where it speaks the Responses API.
    """
    if isinstance(content, str):
        return content if content.strip() else ""
    blocks = ({"type": "text", "text": block} if isinstance(block, str) else block for block in content)
    return [block for block in blocks if not _is_blank(block)]


def _is_blank(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def with_calls(content: Content, before: Sequence[ToolCall], after: Sequence[ToolCall]) -> Content:
    """The content with its blocks of calls under new ids and names, as Anthropic and OpenAI's Responses API write them.

    `before` and `after` are the same calls. A block of a call that is not among them is dropped.
    """
    if isinstance(content, str):
        return content
    calls: dict[str, list[ToolCall]] = {}
    for old, new in zip(before, after, strict=True):
        calls.setdefault(old["id"] or "", []).append(new)
    return list(_renamed(content, calls))


def _renamed(content: Sequence[Any], calls: Mapping[str, list[ToolCall]]) -> Iterator[Any]:
    for block in content:
        if not isinstance(block, dict) or block.get("type") not in CALLS:
            yield block
            continue
        key = "call_id" if "call_id" in block else "id"
        if waiting := calls.get(block.get(key) or ""):
            call = waiting.pop(0)
            yield {**block, key: call["id"] or "", **({"name": call["name"]} if "name" in block else {})}
