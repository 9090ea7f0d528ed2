"""What the provider measured, read off the history: every assistant message carries the usage of its request.

A record counts while the messages before it still are those of its request. Its stamp
(`additional_kwargs["request"]`) tells; without one, in an imported history, it counts while no
compaction lies before it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from longthread.nodes.history.prune import CLEARED
from longthread.nodes.history.speakers import source_of

SUMMARY_SOURCE = "compaction_summary"
_CUT_OFF = ("aborted", "error")
_SNAPSHOT = re.compile(r"[-@:](latest|\d{4}-\d\d-\d\d|\d{4,8})(-v\d+(:\d+)?)?$")


class Stamp(NamedTuple):
    """Where an assistant message stood when its request was sent."""

    n: int
    first: str | None


@dataclass(frozen=True)
class Record:
    """One request as the provider measured it, in tokens; `messages[:n]` were its history."""

    n: int
    input: int
    """Cached tokens included."""
    output: int | None
    """Without reasoning; `None` where the answer was cut off, for then providers report any number."""
    cache_read: int
    cache_write: int
    reasoning: int
    model: str | None
    pruned: str | None
    """Id of the message up to which results were shown by their summary."""
    stamp: Stamp | None


@dataclass(frozen=True)
class Interval:
    """What two requests in a row say of the messages between them: `messages[start:end]` are `growth` tokens."""

    start: int
    end: int
    growth: int


def records(messages: Sequence[BaseMessage], model: str | None = None) -> list[Record]:
    """The records that count for this model, oldest first; for `None` the model of the newest one that has a name."""
    found = measured(messages)
    wanted = model or newest_model(found)
    return [record for record in found if same_model(record.model, wanted) and counts(record, messages)]


def measured(messages: Sequence[BaseMessage], newest: int | None = None) -> list[Record]:
    """The `newest` records that the history carries (default: all), oldest first, whether they count or not.

    Unstamped ones behind a compaction are left out.
    """
    summaries = (n for n, m in enumerate(messages) if source_of(m) == SUMMARY_SOURCE)
    compacted = next(summaries, len(messages))
    found = (read_record(n, messages[n]) for n in range(len(messages) - 1, -1, -1))
    known = (record for record in found if record and (record.stamp or record.n < compacted))
    return list(islice(known, newest))[::-1]


def newest_model(found: Sequence[Record]) -> str | None:
    """The model of the newest record that names one."""
    return next((record.model for record in reversed(found) if record.model), None)


def counts(record: Record, messages: Sequence[BaseMessage]) -> bool:
    """The messages before the record are those of its request, as many and beginning with the same."""
    if record.stamp is None:
        return True
    return record.stamp.n == record.n and (record.n == 0 or record.stamp.first == messages[0].id)


def intervals(messages: Sequence[BaseMessage], found: Sequence[Record], model: str | None) -> Iterator[Interval]:
    """The intervals between neighbouring records of one model with nothing else changed in between.

    Left out are those with a result that was shown by its summary then, or is in that form now.
    """
    for one, two in pairwise(record for record in found if same_model(record.model, model)):
        if one.pruned == two.pruned and _unbroken(one, two) and _shown_whole(messages[one.n : two.n], two.pruned):
            yield Interval(one.n, two.n, two.input - one.input)


def _shown_whole(between: Sequence[BaseMessage], pruned: str | None) -> bool:
    if pruned is not None and any(message.id == pruned for message in between):
        return False
    return not any(CLEARED in message.additional_kwargs for message in between)


def _unbroken(one: Record, two: Record) -> bool:
    """Both were sent in one segment, and as many messages stand between them as did then."""
    if one.stamp is None or two.stamp is None:
        return one.stamp is two.stamp
    return one.stamp.first == two.stamp.first and two.stamp.n - one.stamp.n == two.n - one.n


def read_record(n: int, message: BaseMessage) -> Record | None:
    """The record of the message at position `n`; `None` where nothing was measured."""
    if not isinstance(message, AIMessage) or not message.usage_metadata:
        return None
    given = message.usage_metadata.get("input_tokens") or 0
    if given <= 0:
        return None
    details: Any = message.usage_metadata.get("input_token_details") or {}
    read, written = details.get("cache_read") or 0, _written(details)
    stamp = _stamp(message)
    return Record(
        n=n,
        # Cached tokens that exceed the input were left out of it.
        input=given + (read + written if read + written > given else 0),
        output=output_of(message),
        cache_read=read,
        cache_write=written,
        reasoning=_reasoning(message),
        model=model_of(message),
        pruned=stamp.get("pruned"),
        stamp=Stamp(stamp["n"], stamp.get("first")) if isinstance(stamp.get("n"), int) else None,
    )


def _written(details: Mapping[str, Any]) -> int:
    """Tokens written to the cache; LangChain gives Anthropic's by their time to live, with 0 for their sum."""
    by_time = sum(details.get(f"ephemeral_{time}_input_tokens") or 0 for time in ("5m", "1h"))
    return int(details.get("cache_creation") or by_time)


def _stamp(message: AIMessage) -> dict[str, Any]:
    stamp = message.additional_kwargs.get("request")
    return stamp if isinstance(stamp, dict) else {}


def output_of(message: AIMessage) -> int | None:
    """What the provider measured for the answer itself, without reasoning; `None` where it cannot be trusted."""
    if not message.usage_metadata or message.response_metadata.get("finish_reason") in _CUT_OFF:
        return None
    return max(0, message.usage_metadata.get("output_tokens", 0) - _reasoning(message)) or None


def _reasoning(message: AIMessage) -> int:
    if not message.usage_metadata:
        return 0
    details: Any = message.usage_metadata.get("output_token_details") or {}
    return int(details.get("reasoning") or 0)


def model_of(message: AIMessage) -> str | None:
    """The model asked for where the stamp names it, else the one that the provider names."""
    name = _stamp(message).get("model") or message.response_metadata.get("model_name")
    return name if isinstance(name, str) else None


@lru_cache(maxsize=256)
def same_model(one: str | None, two: str | None) -> bool:
    """Two names of one model: a dated snapshot is the model, a provider's prefix says nothing, no name fits all."""
    return not one or not two or _bare(one) == _bare(two)


def _bare(name: str) -> str:
    return _SNAPSHOT.sub("", name.rsplit("/", 1)[-1].lower())
