"""Reasoning of another house: after a change of model the new provider refuses it, or takes it for text."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from longthread.tools.results import REASONING

HOUSES = {"anthropic": "anthropic", "google": "google", "openai": "openai", "azure": "openai"}
"""How LangChain's names of providers begin, and the house behind them."""


def without_foreign_reasoning(messages: Sequence[AnyMessage], provider: str | None) -> list[AnyMessage]:
    """The messages without reasoning blocks that another house wrote; for a provider not listed above as they are.

    Anthropic refuses thinking without its signature, as an answer that was cut off leaves it, too.
    """
    house = _house_of(provider)
    if house is None:
        return list(messages)
    return [_own(message, house) if isinstance(message, AIMessage) else message for message in messages]


def _house_of(provider: Any) -> str | None:
    return next((house for begin, house in HOUSES.items() if str(provider).startswith(begin)), None)


def _own(message: AIMessage, house: str) -> AIMessage:
    if isinstance(message.content, str):
        return message
    foreign = _house_of(message.response_metadata.get("model_provider")) not in (None, house)
    kept = [block for block in message.content if not (_is_reasoning(block) and (foreign or _unsigned(block, house)))]
    return message if len(kept) == len(message.content) else message.model_copy(update={"content": kept})


def _is_reasoning(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in REASONING


def _unsigned(block: Any, house: str) -> bool:
    return house == "anthropic" and block["type"] == "thinking" and not block.get("signature")
