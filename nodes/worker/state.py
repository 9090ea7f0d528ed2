"""The worker's own state: what it was given, what it said, what it decided, what it cost."""

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels import DeltaChannel
from typing_extensions import TypedDict

from longthread.nodes.history.overview import Entry
from longthread.nodes.state import Trigger, last_value, revived
from longthread.tools.worker import Desk


class Plan(TypedDict):
    """What this compaction was begun for; the commit uses it and computes none again."""

    trigger: Trigger
    first: str
    """Id of the first message that is summarised; empty where only the newest is too long, and is cut."""
    last: str
    summarised: int
    through: list[str]
    """Ids of the last user message and the last answer that are summarised, now or before."""
    tokens_before: int
    hidden: int
    """Tokens of a request that neither prompt, schemas nor messages account for, as measured."""
    number: int
    scale: float
    """The provider's tokens per local token, in this thread."""


class Brief(TypedDict):
    """What the worker is opened with, before it is fitted to a size."""

    entries: list[Entry]
    previous: str
    """The summary of the segment before; empty in the first."""
    todos: str
    files: list[str]
    """Recently touched paths: references from the start."""
    summary_tokens: int
    """Upper limit of the summary."""
    instructions: str
    """What the user asked for beside the compaction; empty for none."""


class Meter(TypedDict):
    """The worker's own tokens, measured where its model reports them."""

    input: int
    output: int
    requests: int
    scale: float
    """Input tokens measured per local token, in its last request."""


class Status(TypedDict):
    """Where the worker stands."""

    asked_for: list[str]
    """What it was asked for once already."""
    shrinks: int
    """How often its overview was halved because its own window was too small."""
    ended: str | None
    """Why it ended."""
    repeats: int


def last_list(state: list[Any] | None, writes: Sequence[Any]) -> list[Any]:
    """The last list that was written."""
    return next((write for write in reversed(writes) if write is not None), state or [])


def append_steps(state: list[list[AnyMessage]] | None, writes: Sequence[Any]) -> list[list[AnyMessage]]:
    """The steps so far and the new ones; a step that stands already, by its first id, is not added again."""
    steps = [revived(step) for step in state or ()]
    known = {step[0].id for step in steps}
    for step in (revived(step) for write in writes for step in write or () if step):
        if step[0].id in known:
            continue
        known.add(step[0].id)
        steps.append(step)
    return steps


class WorkerState(TypedDict):
    """The state of the worker subgraph; messages stay nested, so that no stream takes them for the user's."""

    plan: Annotated[Plan, last_value]
    brief: Annotated[list[Brief], DeltaChannel(last_list, list)]
    log: Annotated[list[list[AnyMessage]], DeltaChannel(append_steps, list)]
    desk: Annotated[list[Desk], DeltaChannel(last_list, list)]
    meter: Annotated[Meter, last_value]
    status: Annotated[Status, last_value]


def conversation(log: Sequence[Sequence[AnyMessage]]) -> list[AnyMessage]:
    """The worker's messages, one after the other."""
    return [message for step in log for message in step]


def last_answer(log: Sequence[Sequence[AnyMessage]]) -> AIMessage | None:
    """What the worker said last."""
    return next((m for m in reversed(conversation(log)) if isinstance(m, AIMessage)), None)
