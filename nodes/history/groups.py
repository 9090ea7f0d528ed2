"""Which result belongs to which call, and what must never be split.

The rule for both: a result belongs to the nearest preceding call with its id that has no result
yet. So an id that is used again in a later turn is no ambiguity, and the second result of one
call belongs to nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage, ToolMessage

from longthread.tools.results import calls_of

INTERRUPTED = "interrupted_call"


class Slot(NamedTuple):
    """One call: the index of its assistant message and its position among that message's calls."""

    message: int
    call: int


def match_results(messages: Sequence[BaseMessage]) -> dict[Slot, int]:
    """The index of the result of every call that has one.

    A result that was put in for an interrupted call counts until the real one arrives.
    """
    real: dict[Slot, int] = {}
    stand_ins: dict[Slot, int] = {}
    unanswered: dict[str, list[Slot]] = {}
    for index, message in enumerate(messages):
        if not isinstance(message, ToolMessage):
            for call in reversed(list(_calls_with_slots(index, message))):
                unanswered.setdefault(call[0], []).append(call[1])
        elif slots := unanswered.get(message.tool_call_id):
            if is_stand_in(message):
                stand_ins.setdefault(slots[-1], index)
            else:
                real[slots.pop()] = index
    return stand_ins | real


def _calls_with_slots(index: int, message: BaseMessage) -> Iterator[tuple[str, Slot]]:
    for position, call in enumerate(calls_of(message)):
        yield call["id"] or "", Slot(index, position)


def is_stand_in(message: ToolMessage) -> bool:
    """The result is one that the repair put in for a call that never got its own."""
    return message.additional_kwargs.get("source") == INTERRUPTED


def groups(messages: Sequence[BaseMessage]) -> list[range]:
    """Index ranges that cover the list without gap or overlap, in order, none of which may be split.

    An assistant message and all results of its calls are one group; every other message is one of
    its own, a result without a call too. Where a result came late, the group reaches to it and
    takes in what lies between: `groups(repair(messages))` has no such reach.
    """
    ends = _last_results(match_results(messages))
    found: list[range] = []
    start = 0
    while start < len(messages):
        end = _end_of_group(start, ends)
        found.append(range(start, end))
        start = end
    return found


def _last_results(results: Mapping[Slot, int]) -> dict[int, int]:
    ends: dict[int, int] = {}
    for slot, index in results.items():
        ends[slot.message] = max(ends.get(slot.message, 0), index)
    return ends


def _end_of_group(start: int, ends: Mapping[int, int]) -> int:
    last = index = start
    while index <= last:
        last = max(last, ends.get(index, index))
        index += 1
    return last + 1
