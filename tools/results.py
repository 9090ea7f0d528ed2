"""What a message says, whatever its shape: its text, its calls, the one line that stands for a result."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, ToolMessage

from longthread.tools.text import one_line

REASONING = frozenset({"reasoning", "reasoning_content", "thinking", "redacted_thinking"})
CALLS = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "function_call", "invalid_tool_call", "input_json_delta"}
)
IMAGES = frozenset({"image", "image_url", "input_image"})


def calls_of(message: BaseMessage) -> list[ToolCall]:
    """Every call of an assistant message, in the order in which their results must follow.

    A call whose arguments could not be parsed comes last, as a call with the one argument
    `invalid_arguments` (the raw text): providers replay it, so it needs a result too. A missing
    id or name is the empty string.
    """
    if not isinstance(message, AIMessage):
        return []
    parsed = [_call(call["name"], call["args"], call["id"]) for call in message.tool_calls]
    return [*parsed, *map(_unparsed, message.invalid_tool_calls)]


def _unparsed(call: InvalidToolCall) -> ToolCall:
    return _call(call["name"], {"invalid_arguments": call["args"] or ""}, call["id"])


def _call(name: str | None, args: dict[str, Any], call_id: str | None) -> ToolCall:
    return ToolCall(name=name or "", args=args, id=call_id or "", type="tool_call")


def text_of(message: BaseMessage) -> str:
    """The text of string or block content: no reasoning, no calls, an image as `[image]`, other blocks by type."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(text for text in map(_text_of_block, message.content) if text.strip())


def _text_of_block(block: str | dict[str, Any]) -> str:
    if isinstance(block, str):
        return block
    kind = block.get("type")
    if isinstance(text := block.get("text"), str):
        return text
    if kind in REASONING or kind in CALLS:
        return ""
    return "[image]" if kind in IMAGES else f"[{kind or 'data'}]"


def summary_of(message: ToolMessage) -> str:
    """The line that stands for a result: what its tool wrote, else made from name, size and first line.

    A made one has at most 200 characters.
    """
    given = message.additional_kwargs.get("summary")
    if isinstance(given, str) and given.strip():
        return given
    text = text_of(message)
    first = next((line for line in text.splitlines() if line.strip()), "no output")
    outcome = "error" if message.status == "error" else "result"
    head = f"{message.name or 'tool'} {outcome}, {len(text)} characters, {len(text.splitlines())} lines"
    return one_line(f"{head}: {first}")
