"""Where Anthropic may cut its prompt cache: on its API a prefix is kept up to a block that carries `cache_control`.

A request may carry four marks. One is on the last tool and one, at the top level, follows the end
of the request (see `longthread.graph.caching`); the two here are on the system text and on what
was the end of the request before. Without that one, a request with more than twenty new blocks
(ten parallel calls) would not find what the last one left in the cache: Anthropic looks back
twenty blocks from a mark and no further.
https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage

MARK: Final = {"type": "ephemeral"}
_KEY: Final = "cache_control"
M = TypeVar("M", bound=BaseMessage)


def with_cache_marks(request: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The request with its two marks, and without any of the user's own, which would add up beyond four."""
    marked = [_unmarked(message) for message in request]
    if marked and isinstance(marked[0], SystemMessage):
        marked[0] = _marked(marked[0])
    newest = max((n for n, message in enumerate(marked) if isinstance(message, AIMessage)), default=0)
    if newest and not isinstance(marked[newest - 1], AIMessage | SystemMessage):
        marked[newest - 1] = _marked(marked[newest - 1])
    return marked


def _marked(message: M) -> M:
    """With a mark on the last block that can carry one; as it is where there is none."""
    blocks = _blocks(message)
    at = next((n for n in range(len(blocks) - 1, -1, -1) if _can_carry(blocks[n])), None)
    if at is None:
        return message
    return message.model_copy(update={"content": [*blocks[:at], {**blocks[at], _KEY: dict(MARK)}, *blocks[at + 1 :]]})


def _blocks(message: BaseMessage) -> list[Any]:
    """Its content as blocks that are on the wire what the content is: a result of plain text stays one."""
    if not isinstance(message.content, str):
        return list(message.content)
    if not message.content.strip():
        return []
    if not isinstance(message, ToolMessage):
        return [{"type": "text", "text": message.content}]
    answered = {"type": "tool_result", "tool_use_id": message.tool_call_id, "is_error": message.status == "error"}
    return [{**answered, "content": message.content}]


def _can_carry(block: Any) -> bool:
    """Anthropic refuses a mark on blank text; of an image in OpenAI's form its package drops it."""
    if not isinstance(block, dict) or block.get("type") == "image_url":
        return False
    return block.get("type") != "text" or bool(block["text"].strip())


def _unmarked(message: M) -> M:
    if isinstance(message.content, str) or not any(_KEY in block for block in message.content):
        return message
    blocks = [b if isinstance(b, str) else {k: v for k, v in b.items() if k != _KEY} for b in message.content]
    return message.model_copy(update={"content": blocks})
