"""Images in tool results, for chat completions: OpenAI's servers take them from users only."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from longthread.tools.results import IMAGES

SHOWN_BELOW = "[image: shown below]"


def images_by_user(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with the images of a group's results in a user message right after the group."""
    shown: list[AnyMessage] = []
    waiting: list[Any] = []
    for message in messages:
        if waiting and not isinstance(message, ToolMessage):
            shown.append(HumanMessage(waiting))
            waiting = []
        images = _images(message)
        waiting += [{"type": "text", "text": f"[from {message.name or 'the tool'}]"}, *images] if images else []
        shown.append(_in_words(message) if images else message)
    return [*shown, HumanMessage(waiting)] if waiting else shown


def _images(message: AnyMessage) -> list[Any]:
    if not isinstance(message, ToolMessage) or isinstance(message.content, str):
        return []
    return [block for block in message.content if _is_image(block)]


def _is_image(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in IMAGES


def _in_words(message: AnyMessage) -> AnyMessage:
    blocks = [{"type": "text", "text": SHOWN_BELOW} if _is_image(block) else block for block in message.content]
    return message.model_copy(update={"content": blocks})
