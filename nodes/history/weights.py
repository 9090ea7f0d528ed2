"""Tokens of a history: what the next request will fill, and what each message weighs in it.

The provider's count is the truth wherever it says something; the local count fills the gaps,
scaled by what this thread has shown (see `rates`). All of it is arithmetic over what is known:
a text is tokenised once, when it is new.
"""

import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from langchain_core.messages import AnyMessage, ToolMessage

from longthread.nodes.history.groups import Slot, match_results
from longthread.nodes.history.prune import show_pruned
from longthread.nodes.history.rates import ENOUGH, NEWEST, SLOPES, Rates, learn
from longthread.nodes.history.records import (
    SUMMARY_SOURCE,
    Interval,
    Record,
    counts,
    intervals,
    measured,
    newest_model,
    same_model,
)
from longthread.nodes.history.repair import INTERRUPTED_TEXT
from longthread.nodes.history.speakers import is_own, source_of
from longthread.nodes.state import Occupancy
from longthread.tools.results import calls_of
from longthread.tools.tokens import count_messages

UNKNOWN = "unknown"
PLAUSIBLE = (0.5, 2.0)
"""A measured total that is less or more than this share of the estimate measured something else."""
LEARNED_FROM = 4 * NEWEST
"""Records, the newest, that the rates are learned from."""
Messages = Sequence[AnyMessage]


@dataclass(frozen=True)
class TokenMeter:
    """Measures histories for one agent; the unit is the provider's tokens where it has reported any."""

    fixed: int
    """Local tokens of system prompt and tool schemas."""
    model: str | None
    """The model asked for; records of another do not count. `None` or "unknown": the one that answered last."""
    keep: frozenset[str] = field(default=frozenset())
    """Names of tools whose results are never shown by their summary."""
    agent: str | None = None
    """The agent's name: another agent's requests, in a shared history, had another prompt. `None`: anyone's count."""
    _learned: list[tuple[tuple[AnyMessage, ...], Rates]] = field(default_factory=list, repr=False, compare=False)
    """The rates of the last two histories: a step asks for the same ones several times."""

    def occupancy(self, messages: Messages, pruned_through: str | None = None) -> Occupancy:
        """What the next request will fill.

        `measured` when the last answer ends the history, `extrapolated` from the last record that
        counts when more came after it, `estimated` where there is none.
        """
        rates = self._rates(messages)
        found, _ = self._found(messages, LEARNED_FROM)
        last = next(_counting(reversed(found), messages, rates.model), None)
        shown = show_pruned(messages, pruned_through, self.keep)
        if last is None:
            return {"tokens": self._total(shown, rates), "source": "estimated"}
        moved = self._moved(messages, last, shown, rates)
        after = _parts(shown, rates, last.n)
        tokens = last.input + moved + sum(map(sum, after))
        exact = not moved and not any(part.estimated for part in after)
        return {"tokens": max(0, round(tokens)), "source": "measured" if exact else "extrapolated"}

    def weights(
        self, messages: Messages, pruned_through: str | None = None, thread: Messages | None = None
    ) -> list[int]:
        """Tokens of each message in the form in which a request shows it, one number for each.

        A measured growth is shared out over the messages that it covers; elsewhere the local count
        is scaled as in `thread`, the history that the messages come from (default: they themselves).
        Results that the repair would put in weigh with the message whose calls they answer.
        """
        rates = self._rates(messages if thread is None else thread)
        found, _ = self._found(messages)
        weights = _shared_out(messages, intervals(messages, found, rates.model), rates)
        for n, shown in enumerate(show_pruned(messages, pruned_through, self.keep)):
            if shown is not messages[n] and weights[n]:
                weights[n] = rates.weigh(shown)
        return [round(weight) for weight in weights]

    def scaled(self, messages: Messages, thread: Messages | None = None) -> int:
        """Tokens of a whole request, system prompt and schemas included, with a history that was never sent.

        Scaled as in `thread` (default: `messages`); the total of no record is used.
        """
        return self._total(messages, self._rates(messages if thread is None else thread))

    def ratio(self, messages: Messages) -> float:
        """The provider's tokens per local token in this thread; 1 as long as nothing is known."""
        return self._rates(messages).ratio

    def shown_weight(self, messages: Messages) -> Callable[[ToolMessage], int]:
        """Weighs a result in the form that it is given, by the rates of this thread."""
        rates = self._rates(messages)
        return lambda message: round(rates.weigh(message))

    def _total(self, messages: Messages, rates: Rates) -> int:
        return round(self.fixed * rates.ratio + sum(map(sum, _parts(messages, rates))))

    def _found(self, messages: Messages, newest: int | None = None) -> tuple[list[Record], str | None]:
        """This agent's records, oldest first, and the model whose records count."""
        found = [record for record in measured(messages, newest) if is_own(messages[record.n], self.agent)]
        return found, self.model if self.model and self.model != UNKNOWN else newest_model(found)

    def _rates(self, messages: Messages) -> Rates:
        known = next((rates for seen, rates in self._learned if _are_same(seen, messages)), None)
        if known is None:
            known = self._learn(messages)
            self._learned[:] = [(tuple(messages), known), *self._learned[:1]]
        return known

    def _learn(self, messages: Messages) -> Rates:
        found, model = self._found(messages, LEARNED_FROM)
        return learn(messages, intervals(messages, found, model), model, self._first_ratio(messages, found, model))

    def _first_ratio(self, messages: Messages, found: Sequence[Record], model: str | None) -> float:
        """Measured to local of a whole request, else what the summary carries: all there is before much has grown."""
        first = next(_counting(found, messages, model), None)
        if first is None or len(found) == LEARNED_FROM:
            return _carried_ratio(messages)
        local = self.fixed + sum(count_messages(show_pruned(messages[: first.n], first.pruned, self.keep)))
        telling = local >= ENOUGH and _is_plausible(first.input / local)
        return first.input / local if telling else _carried_ratio(messages)

    def _moved(self, messages: Messages, last: Record, shown: Messages, rates: Rates) -> float:
        """What prune steps since the record changed in the part that it measured."""
        then = show_pruned(messages, last.pruned, self.keep)[: last.n]
        changed = [n for n, message in enumerate(then) if message.content != shown[n].content]
        weights = self.weights(messages, last.pruned) if changed else []
        return sum(rates.weigh(shown[n]) - weights[n] for n in changed if weights[n])


def _are_same(one: Messages, two: Messages) -> bool:
    """The very same messages, which nothing changes in place."""
    return len(one) == len(two) and all(map(operator.is_, one, two))


def _counting(found: Iterable[Record], messages: Messages, model: str | None) -> Iterator[Record]:
    """Those of this model that count."""
    return (record for record in found if same_model(record.model, model) and counts(record, messages))


def _carried_ratio(messages: Messages) -> float:
    """What the thread had shown before its last compaction, as the summary carries it."""
    summaries = (m for m in reversed(messages) if source_of(m) == SUMMARY_SOURCE)
    segment = next((m.additional_kwargs.get("segment") for m in summaries), None)
    ratio = segment.get("scale") if isinstance(segment, dict) else None
    return min(max(ratio, SLOPES[0]), SLOPES[1]) if isinstance(ratio, int | float) else 1


class _Part(NamedTuple):
    """What is known of a message's weight; the weight is the sum."""

    measured: int
    estimated: float


def _parts(messages: Messages, rates: Rates, start: int = 0) -> list[_Part]:
    """The weight of each message from `start` on; nothing for results that a request leaves out."""
    results = match_results(messages)
    missing, shown = _missing(messages, results, start), set(results.values())
    stand_in = rates.weigh(ToolMessage(INTERRUPTED_TEXT, tool_call_id="")) if missing else 0
    parts = []
    for n, local in enumerate(count_messages(messages[start:]), start):
        left_out = isinstance(messages[n], ToolMessage) and n not in shown
        measured, estimated = (0, 0.0) if left_out else rates.parts(messages[n], local)
        parts.append(_Part(measured, estimated + missing[n] * stand_in))
    return parts


def _missing(messages: Messages, results: Collection[Slot], start: int) -> Counter[int]:
    """For each message the calls that the repair must answer; those of the newest answer still run."""
    end = max((n for n, message in enumerate(messages) if not isinstance(message, ToolMessage)), default=0)
    calls = (Slot(n, call) for n in range(start, end) for call in range(len(calls_of(messages[n]))))
    return Counter(slot.message for slot in calls if slot not in results)


def _shared_out(messages: Messages, found: Iterable[Interval], rates: Rates) -> list[float]:
    """The weights; where a growth was measured, what is estimated is stretched so that they add up to it."""
    parts = _parts(messages, rates)
    weights = [float(sum(part)) for part in parts]
    for interval in found:
        between = parts[interval.start : interval.end]
        certain, estimated = map(sum, zip(*between, strict=True))
        factor = (interval.growth - certain) / (estimated or 1)
        if _is_plausible(factor):
            weights[interval.start : interval.end] = [part.measured + part.estimated * factor for part in between]
    return weights


def _is_plausible(ratio: float) -> bool:
    return PLAUSIBLE[0] <= ratio <= PLAUSIBLE[1]
