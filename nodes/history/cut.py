"""Where a compaction cuts, and what the kept tail looks like.

The history handed in is repaired: every result stands right after its call.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from longthread.nodes.history.groups import groups
from longthread.nodes.history.prune import show_pruned
from longthread.tools.cut import cut_middle
from longthread.tools.results import text_of
from longthread.tools.tokens import count_message, count_text

CUT = "cut when the context was compacted"
CUT_RESULT = f"{CUT}; call the tool again for the rest"
SMALLEST = 40
"""Tokens that a shortened message keeps at least."""


@dataclass(frozen=True)
class Cut:
    """`messages[:head]` stay at the head, `messages[head:start]` are summarised, the rest is the tail."""

    head: int
    start: int


def summary_only(messages: Sequence[AnyMessage], keep: Collection[str] = ()) -> list[AnyMessage]:
    """The messages with results by their summary, but for those that the model has not answered yet."""
    answered = next((m.id for m in reversed(messages) if isinstance(m, AIMessage)), None)
    return show_pruned(messages, answered, keep)


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


def fit_tail(tail: Sequence[AnyMessage], budget: int, scale: float) -> list[AnyMessage]:
    """The tail within `budget` tokens: the largest messages are shortened, none is left out.

    `scale` is the provider's tokens per local token. The stamps of requests go: they count
    positions of a history that is no more.
    """
    local = round(budget / scale) if scale else budget
    sizes = [count_message(message) for message in tail]
    limit = _water_level(sizes, local)
    return [_without_stamp(_shortened(m, limit) if size > limit else m) for m, size in zip(tail, sizes, strict=True)]


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
    return message.model_copy(update={"content": cut_middle(text_of(message), tokens, note)})


def _shortened_answer(message: AIMessage, tokens: int) -> AIMessage:
    """Text and the long arguments of calls share what there is."""
    share = max(SMALLEST // 2, tokens // (1 + len(message.tool_calls)))
    cut = _cutter(share)
    calls = [{**call, "args": {key: cut(value) for key, value in call["args"].items()}} for call in message.tool_calls]
    return message.model_copy(update={"content": cut(text_of(message)), "tool_calls": calls})


def _cutter(tokens: int) -> Callable[[Any], Any]:
    def cut(value: Any) -> Any:
        if isinstance(value, str):
            return (
                value
                if count_text(value) <= tokens
                else cut_middle(value, tokens, "cut when the context was compacted")
            )
        if isinstance(value, list | dict) and count_text(repr(value)) > tokens:
            return cut_middle(repr(value), tokens, "cut when the context was compacted")
        return value

    return cut
