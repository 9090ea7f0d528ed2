"""The figures of counting, on a recorded session: how well the next request is foreseen and messages are weighed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from langchain_core.messages import AIMessage, AnyMessage, messages_from_dict

from longthread.nodes.history.weights import TokenMeter
from longthread.tools.tokens import MESSAGE_TOKENS, count_message

SESSION = Path(__file__).parents[3] / "shared" / "data" / "real_session.jsonl"
"""A coding session of 914 messages with what the provider measured; it is not part of the repository."""
STRETCH = 10
"""Hidden records from one end of a stretch to the other: about twenty requests."""
METER = TokenMeter(0, None)


@dataclass(frozen=True)
class Foreseen:
    """One request: the error in tokens, its measured input, and the growth since the record before it."""

    error: int
    input: int
    growth: int
    apart: bool
    """It follows an aborted run or a change of model."""

    @property
    def of_input(self) -> float:
        """Share of the measured input."""
        return abs(self.error) / self.input

    @property
    def of_growth(self) -> float:
        """Share of the growth."""
        return abs(self.error) / max(1, abs(self.growth))


def load_session() -> list[AnyMessage]:
    """The messages of the recorded session."""
    return messages_from_dict([json.loads(line) for line in SESSION.read_text(encoding="utf-8").splitlines()])  # type: ignore[return-value]  # a list of the concrete classes


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measured_at(messages: Sequence[AnyMessage]) -> list[int]:
    """Positions of the answers with usage."""
    return [n for n, message in enumerate(messages) if isinstance(message, AIMessage) and message.usage_metadata]


def input_of(message: AnyMessage) -> int:
    """The measured input of the request that the message answers."""
    assert isinstance(message, AIMessage)
    assert message.usage_metadata
    return message.usage_metadata["input_tokens"]


def local_of(messages: Sequence[AnyMessage]) -> int:
    """The local count of the texts alone."""
    return sum(count_message(message) - MESSAGE_TOKENS for message in messages)


def foresee(messages: Sequence[AnyMessage]) -> list[Foreseen]:
    """The session request by request: occupancy against what was then measured."""
    places = measured_at(messages)
    return [_judged(messages, one, two, METER.occupancy(messages[:two])["tokens"]) for one, two in pairwise(places)]


def foresee_by_one_ratio(messages: Sequence[AnyMessage]) -> list[Foreseen]:
    """The same by the local count of what is new, scaled by measured ÷ local so far; measured output taken as it is."""
    places, found = measured_at(messages), []
    measured = local = 1.0
    for one, two in pairwise(places):
        certain, new = input_of(messages[one]) + _output(messages[one]), local_of(messages[one + 1 : two])
        judged = _judged(messages, one, two, round(certain + new * measured / local))
        found.append(judged)
        if not judged.apart:
            measured, local = measured + max(0, input_of(messages[two]) - certain), local + new
    return found


def weigh_hidden(messages: Sequence[AnyMessage], parity: int) -> list[float]:
    """Errors of stretches between hidden records (every second one), as shares of the hidden truth."""
    hidden = measured_at(messages)[parity::2]
    return _stretches(messages, hidden, METER.weights(_without_usage(messages, hidden)))


def weigh_hidden_by_one_ratio(messages: Sequence[AnyMessage], parity: int) -> list[float]:
    """The same by the local count times one ratio, taken over the whole session."""
    places = measured_at(messages)
    growth = input_of(messages[places[-1]]) - input_of(messages[places[0]])
    ratio = growth / local_of(messages[places[0] : places[-1]])
    return _stretches(messages, places[parity::2], [ratio * local_of([message]) for message in messages])


def _judged(messages: Sequence[AnyMessage], one: int, two: int, tokens: int) -> Foreseen:
    truth = input_of(messages[two])
    model = messages[two].response_metadata["model_name"]
    answers = [message.response_metadata for message in messages[one:two] if isinstance(message, AIMessage)]
    apart = any(m["finish_reason"] in ("aborted", "error") or m["model_name"] != model for m in answers)
    return Foreseen(tokens - truth, truth, truth - input_of(messages[one]), apart)


def _output(message: AnyMessage) -> int:
    assert isinstance(message, AIMessage)
    assert message.usage_metadata
    return message.usage_metadata["output_tokens"]


def _without_usage(messages: Sequence[AnyMessage], places: Sequence[int]) -> list[AnyMessage]:
    hidden = set(places)
    return [m.model_copy(update={"usage_metadata": None}) if n in hidden else m for n, m in enumerate(messages)]


def _stretches(messages: Sequence[AnyMessage], hidden: Sequence[int], weights: Sequence[float]) -> list[float]:
    found = []
    for one, two in zip(hidden, hidden[STRETCH:], strict=False):
        truth = input_of(messages[two]) - input_of(messages[one])
        found.append(abs(sum(weights[one:two]) - truth) / truth)
    return found


def summary(values: Sequence[float]) -> tuple[float, float]:
    """Median and 90th percentile."""
    return median(values), percentile(values, 0.9)
