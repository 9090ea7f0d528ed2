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

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage

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
    """With a mark on its last block; as it is where there is none, or it is blank, which Anthropic refuses."""
    content = message.content
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if not blocks or not isinstance(blocks[-1], dict) or _is_blank(blocks[-1]):
        return message
    return message.model_copy(update={"content": [*blocks[:-1], {**blocks[-1], _KEY: dict(MARK)}]})


def _is_blank(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and not block["text"].strip()


def _unmarked(message: M) -> M:
    if isinstance(message.content, str) or not any(_KEY in block for block in message.content):
        return message
    blocks = [b if isinstance(b, str) else {k: v for k, v in b.items() if k != _KEY} for b in message.content]
    return message.model_copy(update={"content": blocks})
