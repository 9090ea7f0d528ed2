"""Who a message is from: the user, the model, or the graph itself."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage


def source_of(message: AnyMessage) -> str | None:
    """What part of the graph added the message; `None` for the conversation itself."""
    return message.additional_kwargs.get("source")


def is_users(message: AnyMessage) -> bool:
    """The message is the user's own, not one that the graph added."""
    return isinstance(message, HumanMessage) and not source_of(message)


def last_user_message(messages: Sequence[AnyMessage]) -> AnyMessage | None:
    """The newest message of the user's own."""
    return next((m for m in reversed(messages) if is_users(m)), None)


def last_answer(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """The newest message of the model's own."""
    return next((m for m in reversed(messages) if isinstance(m, AIMessage) and not source_of(m)), None)


def awaits_first_answer(messages: Sequence[AnyMessage]) -> bool:
    """The newest user message has no assistant message after it yet."""
    newest = next((m for m in reversed(messages) if isinstance(m, AIMessage) or is_users(m)), None)
    return newest is not None and is_users(newest)


def head_length(messages: Sequence[AnyMessage]) -> int:
    """System messages that the user put at the head of the history; they stay there word for word."""
    return next((n for n, m in enumerate(messages) if not isinstance(m, SystemMessage) or source_of(m)), len(messages))
