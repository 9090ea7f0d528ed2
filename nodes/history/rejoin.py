"""A conversation that a parent graph hands in again: only what is new of it, and a summary before what it stands for.

A parent that merges what the agent returns (a plain compiled graph as node, a handoff) keeps the
messages that were summarised and appends the summary after them.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, RemoveMessage

from longthread.nodes.history.rebuild import REBUILT, SUMMARY
from longthread.nodes.history.snapshot import carried_snapshot
from longthread.nodes.history.speakers import head_length, source_of


def after_summarised(given: list[Any], merged: Sequence[AnyMessage]) -> list[Any]:
    """What is new in a list of messages for a history that may hold a summary of its first part.

    The summary names the newest messages that it stands for; they and all before them are in it.
    """
    if len(given) < 2 or any(isinstance(message, RemoveMessage) for message in given):
        return given
    through = _through(merged[at]) if (at := _newest_summary(merged)) is not None else set()
    repeated = [n for n, message in enumerate(given) if message.id in through]
    known = {message.id for message in merged}
    return [m for m in given[repeated[-1] + 1 :] if m.id not in known] if repeated else given


def in_order(messages: list[AnyMessage]) -> list[AnyMessage]:
    """The history with its newest summary, and what was rebuilt with it, before all that it does not stand for.

    Messages that it stands for are left out, and so is what an earlier compaction rebuilt. A
    history that is in order comes back as it is.
    """
    at = _newest_summary(messages)
    if at is None:
        return messages
    head = min(head_length(messages), at)
    through = _through(messages[at])
    cut = max((n + 1 for n, message in enumerate(messages) if message.id in through), default=head)
    end = next((n for n in range(at, len(messages)) if source_of(messages[n]) not in REBUILT), len(messages))
    rebuilt = messages[at:end]
    carried = carried_snapshot(messages)
    if carried is not None and not any(message is carried for message in rebuilt):
        rebuilt = [*rebuilt, carried]
    rest = [m for m in messages[max(cut, head) :] if source_of(m) not in REBUILT]
    return [*messages[:head], *rebuilt, *rest]


def _newest_summary(messages: Sequence[AnyMessage]) -> int | None:
    """Where the summary of the latest compaction stands."""
    found = [(_segment(m).get("number", 0), n) for n, m in enumerate(messages) if source_of(m) == SUMMARY]
    return max(found)[1] if found else None


def _segment(message: AnyMessage) -> dict[str, Any]:
    segment = message.additional_kwargs.get("segment")
    return segment if isinstance(segment, dict) else {}


def _through(summary: AnyMessage) -> set[str]:
    return set(_segment(summary).get("through", []))
