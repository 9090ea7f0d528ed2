"""Where a compaction cuts, and what the kept tail looks like.

The history handed in is repaired: every result stands right after its call.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from longthread.nodes.history.groups import groups
from longthread.nodes.history.prune import show_pruned
from longthread.nodes.history.speakers import is_users, last_answer
from longthread.tools.cut import cut_middle
from longthread.tools.results import text_of
from longthread.tools.tokens import MESSAGE_TOKENS, count_message, count_text

M = TypeVar("M", bound=BaseMessage)

CUT = "cut when the context was compacted"
CUT_RESULT = f"{CUT}; call the tool again for the rest"
SMALLEST = 40
"""Tokens that a shortened message keeps at least."""
SHORTENED = "shortened"
"""Marks a message of the tail that is not what it was; what a shortened call or result showed is not known any more."""


@dataclass(frozen=True)
class Cut:
    """`messages[:head]` stay at the head, `messages[head:start]` are summarised, the rest is the tail."""

    head: int
    start: int


def summary_only(messages: Sequence[AnyMessage], keep: Collection[str] = ()) -> list[AnyMessage]:
    """The messages with results by their summary, but for those that the model has not answered yet."""
    answered = last_answer(messages)
    return show_pruned(messages, answered.id if answered else None, keep)


def find_cut(messages: Sequence[AnyMessage], weights: Sequence[int], head: int, retained: int) -> Cut:
    """The cut that keeps the most whole groups from the end within `retained` tokens, and always the newest.

    `weights` are tokens of each message in summary-only form, added up from the end.
    """
    start = len(messages)
    used = 0
    for group in reversed([g for g in groups(messages) if g.start >= head]):
        used += sum(weights[n] for n in group)
        if used > retained and start < len(messages):
            break
        start = group.start
    return Cut(head, start)


def fit_tail(tail: Sequence[AnyMessage], budget: int, weight: int) -> list[AnyMessage]:
    """The tail within `budget` tokens, of which it has `weight`: the largest messages are shortened, none is left out.

    The user's own words are shortened only where shortening all others is not enough. The stamps of
    requests go: they count positions of a history that is no more.
    """
    fitted = [_without_stamp(message) for message in tail]
    if weight <= budget:
        return fitted
    local = budget * sum(map(count_message, tail)) // weight
    fitted = _leveled(fitted, [n for n, message in enumerate(fitted) if not is_users(message)], local)
    return _leveled(fitted, range(len(fitted)), local)


def _leveled(messages: Sequence[AnyMessage], which: Collection[int], budget: int) -> list[AnyMessage]:
    """The messages within `budget` local tokens, if shortening the largest of `which` can bring them there."""
    sizes = [count_message(message) for message in messages]
    rest = sum(size for n, size in enumerate(sizes) if n not in which)
    if sum(sizes) <= budget:
        return list(messages)
    limit = _water_level([sizes[n] for n in which], budget - rest)
    return [
        _shortened(message, limit) if n in which and sizes[n] > limit else message for n, message in enumerate(messages)
    ]


def _water_level(sizes: Sequence[int], budget: int) -> int:
    """The size at which everything above it is cut, so that the sum fits the budget."""
    left = budget
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size * count > left:
            return max(SMALLEST, left // count)
        left -= size
    return max(sizes, default=0)


def _without_stamp(message: AnyMessage) -> AnyMessage:
    if "request" not in message.additional_kwargs:
        return message
    kept = {key: value for key, value in message.additional_kwargs.items() if key != "request"}
    return message.model_copy(update={"additional_kwargs": kept})


def _shortened(message: AnyMessage, tokens: int) -> AnyMessage:
    if isinstance(message, AIMessage):
        return _shortened_answer(message, tokens)
    note = CUT_RESULT if isinstance(message, ToolMessage) else CUT
    return _marked(message, content=cut_middle(text_of(message), tokens - MESSAGE_TOKENS, note))


def _marked(message: M, **changed: Any) -> M:
    return message.model_copy(update={**changed, "additional_kwargs": {**message.additional_kwargs, SHORTENED: True}})


def _shortened_answer(message: AIMessage, tokens: int) -> AIMessage:
    """Text and arguments of calls share what there is; the longest are cut."""
    values = [value for call in message.tool_calls for value in call["args"].values()]
    sizes = [count_text(text) for text in (text_of(message), *map(_as_text, values))]
    cut = _cutter(_water_level(sizes, tokens - (count_message(message) - sum(sizes))))
    calls = [{**call, "args": {key: cut(value) for key, value in call["args"].items()}} for call in message.tool_calls]
    return _marked(message, content=cut(text_of(message)), tool_calls=calls)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _cutter(tokens: int) -> Callable[[Any], Any]:
    def cut(value: Any) -> Any:
        text = _as_text(value)
        return cut_middle(text, tokens, CUT) if count_text(text) > tokens else value

    return cut
