"""Who a message is from: the user, the model, or the graph itself."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage

OWN_SOURCES = frozenset({"todo_reminder", "compaction_summary", "auto_read", "references", "todo_snapshot"})
"""Of the system messages that the graph writes."""
OTHER_SOURCES = frozenset({"tool", "node", "interrupted_call"})
"""Of a message that a tool added beside its result, or a node of the user's own; and of a result that stands in."""


def source_of(message: BaseMessage) -> str | None:
    """What part of the graph added the message; `None` for the conversation itself.

    Others use the key too, and a user's or a tool's message can carry any word: only a system message
    is the graph's own.
    """
    source = message.additional_kwargs.get("source")
    if not isinstance(source, str):
        return None
    known = OWN_SOURCES | OTHER_SOURCES if isinstance(message, SystemMessage) else OTHER_SOURCES
    return source if source in known else None


def is_graphs_own(message: AnyMessage) -> bool:
    """The graph wrote the message about the conversation; it is not part of it."""
    return source_of(message) in OWN_SOURCES


def is_users(message: AnyMessage) -> bool:
    """The message is the user's own, not one that the graph added."""
    return isinstance(message, HumanMessage) and not source_of(message)


def is_own(message: AnyMessage, agent: str | None) -> bool:
    """An assistant message of this agent's own; one without a name, as in an imported history, counts as that."""
    return isinstance(message, AIMessage) and not source_of(message) and (not agent or message.name in (None, agent))


def last_user_message(messages: Sequence[AnyMessage]) -> AnyMessage | None:
    """The newest message of the user's own."""
    return next((m for m in reversed(messages) if is_users(m)), None)


def last_answer(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """The newest message of the model's own."""
    return next((m for m in reversed(messages) if isinstance(m, AIMessage) and not source_of(m)), None)


def awaits_first_answer(messages: Sequence[AnyMessage], agent: str | None = None) -> bool:
    """The newest user message has no assistant message of this agent (default: of any) after it yet."""
    newest = next((m for m in reversed(messages) if is_own(m, agent) or is_users(m)), None)
    return newest is not None and is_users(newest)


def head_length(messages: Sequence[AnyMessage]) -> int:
    """System messages that the user put at the head of the history; they stay there word for word."""
    return next((n for n, m in enumerate(messages) if not isinstance(m, SystemMessage) or source_of(m)), len(messages))
