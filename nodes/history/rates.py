"""How the provider's tokens follow from the local count in this thread, learned from its own requests.

A provider's tokens of a message are a line over its local count: a slope (another vocabulary cuts
another way, by about the same factor in texts of one kind) and an offset (what wraps each
message). One line is learned for each kind of message: for the results of each tool, for each
role, and for all together where a kind has been seen too seldom. Medians, so that a request with
something unseen in it (a changed system prompt, dropped reasoning) moves nothing; the newest
observations only, so that a line follows what the thread is about.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from longthread.nodes.history.records import Interval, model_of, output_of, same_model
from longthread.tools.results import calls_of
from longthread.tools.tokens import count_message, count_messages

NEWEST = 48
"""Observations that a line is drawn through."""
FEWEST = 3
"""Observations that a kind needs for a line of its own."""
ENOUGH = 1_000
"""Local tokens that a slope needs; short messages say much of the offset and little of the slope."""
SLOPES = (0.5, 3.0)
OFFSETS = (-10.0, 60.0)
Kind = tuple[str, ...]


class Observation(NamedTuple):
    """So many `messages` of one kind, `local` tokens together, were `measured` tokens."""

    kind: Kind
    messages: int
    local: int
    measured: int


@dataclass(frozen=True)
class Line:
    """Tokens of a message by its local count."""

    slope: float
    offset: float = 0

    def at(self, local: int) -> float:
        """Never less than one token."""
        return max(1, self.slope * local + self.offset)


@dataclass(frozen=True)
class Rates:
    """What was learned: a line for each kind; the one for all kinds is under `()`."""

    lines: dict[Kind, Line]
    model: str | None

    @property
    def ratio(self) -> float:
        """The provider's tokens per local token, for text of any kind."""
        return self.lines[()].slope

    def weigh(self, message: BaseMessage) -> float:
        """Tokens of a message as it stands: an answer's own output where that is plausible, else by its line."""
        return sum(self.parts(message, count_message(message)))

    def parts(self, message: BaseMessage, local: int) -> tuple[int, float]:
        """The same as what was measured and what is estimated; one of them is 0."""
        measured = measured_output(message, self.model, local)
        return (measured, 0) if measured else (0, self._line(kind_of(message)).at(local))

    def _line(self, kind: Kind) -> Line:
        known = (self.lines[kind[:length]] for length in range(len(kind), 0, -1) if kind[:length] in self.lines)
        return next(known, Line(self.ratio))


def learn(messages: Sequence[BaseMessage], found: Iterable[Interval], model: str | None, ratio: float) -> Rates:
    """The rates of this thread; `ratio` is the slope as long as there is nothing to learn from."""
    seen: dict[Kind, list[Observation]] = defaultdict(list)
    for interval in found:
        for observation in _observations(messages[interval.start : interval.end], interval.growth, model):
            for length in range(len(observation.kind) + 1):
                seen[observation.kind[:length]].append(observation)
    overall = _fit(seen.pop((), []), ratio)
    lines = {kind: _fit(observed, overall.slope) for kind, observed in seen.items() if len(observed) >= FEWEST}
    return Rates({**lines, (): overall}, model)


def kind_of(message: BaseMessage) -> Kind:
    """The role; for a result also the name of its tool."""
    return (message.type, message.name or "") if isinstance(message, ToolMessage) else (message.type,)


def is_plausible(tokens: int, local: int, messages: int = 1) -> bool:
    """The provider can have measured this for messages with that local count."""
    return local / 3 <= tokens <= 3 * local + 60 * messages


def measured_output(message: BaseMessage, model: str | None, local: int) -> int:
    """What the provider measured for this answer itself, without reasoning; 0 where it cannot be that."""
    if not isinstance(message, AIMessage) or not same_model(model_of(message), model):
        return 0
    output = output_of(message)
    return output if output and is_plausible(output, local) else 0


def _observations(between: Sequence[BaseMessage], growth: int, model: str | None) -> Iterable[Observation]:
    """The answer's output, and the rest of the growth where it falls to messages of one role."""
    local, *others = count_messages(between)
    output = measured_output(between[0], model, local)
    if not output:
        return
    yield Observation(kind_of(between[0]), 1, local, output)
    common = _common([kind_of(message) for message in between[1:]])
    if common and _is_sound(between) and is_plausible(growth - output, sum(others), len(others)):
        yield Observation(common, len(others), sum(others), growth - output)


def _is_sound(between: Sequence[BaseMessage]) -> bool:
    """Every call has its result and every result its call: the request showed these messages as they are."""
    calls = [call["id"] or "" for message in between for call in calls_of(message)]
    return sorted(calls) == sorted(m.tool_call_id for m in between if isinstance(m, ToolMessage))


def _common(kinds: Sequence[Kind]) -> Kind:
    """The kind of all, or the role of all; empty where there is none."""
    for length in (2, 1):
        if len({kind[:length] for kind in kinds}) == 1:
            return kinds[0][:length]
    return ()


def _fit(observed: Sequence[Observation], slope: float) -> Line:
    """The line through the newest observations; `slope` stands in for one that they are too short to show."""
    newest = observed[-NEWEST:]
    telling = sum(o.local for o in newest) >= ENOUGH
    if len(newest) < FEWEST and not telling:
        return Line(slope)
    offset = 0.0
    for _ in range(2):
        if telling:
            slope = _weighted_median([((o.measured - offset * o.messages) / o.local, o.local) for o in newest])
        offset = _within(median((o.measured - slope * o.local) / o.messages for o in newest), OFFSETS)
    return Line(_within(slope, SLOPES), offset)


def _weighted_median(values: Iterable[tuple[float, int]]) -> float:
    """The value below which half of the weight lies."""
    ordered = sorted(values)
    half = sum(weight for _, weight in ordered) / 2
    sums = accumulate(weight for _, weight in ordered)
    return next(value for (value, _), total in zip(ordered, sums, strict=True) if total >= half)


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])
