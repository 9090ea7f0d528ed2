"""The state of the agent: plain values only, every key with an idempotent reducer.

SQLite writes every plain key into every checkpoint row, so what can grow lives in delta
channels and the rest is a few bytes.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, Protocol
from uuid import NAMESPACE_OID, uuid5

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, convert_to_messages, messages_from_dict
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.managed import RemainingSteps
from typing_extensions import TypedDict

from longthread.nodes.history.rebuild import SUMMARY
from longthread.nodes.history.rejoin import after_summarised, in_order
from longthread.nodes.history.speakers import source_of
from longthread.nodes.version import MigratedDelta, SchemaVersion, newest
from longthread.tools.todo import TodoItem, replace_todos
from longthread.tools.tracker import FileRecord, merge_records

SNAPSHOT_EVERY = 1_000
ROLES = ("user", "human", "assistant", "ai", "system")
Trigger = Literal["compact_threshold", "compact_request_threshold", "context_refused", "user"]
Outcome = Literal["committed", "failed", "no_gain", "irreducible", "nothing"]
CountSource = Literal["measured", "extrapolated", "estimated"]


class Occupancy(TypedDict):
    """Tokens that the next request will fill, and where the number comes from."""

    tokens: int
    source: CountSource


class ReminderState(TypedDict, total=False):
    """What the attention mechanism counts; `run` tells one invocation from the next."""

    turn: str
    """Id of the user message that began the turn."""
    requests: int
    """Requests sent in this invocation."""
    earlier: int
    """Requests of the turn's earlier invocations; both together count against `max_requests`."""
    run: int


class CompactionState(TypedDict, total=False):
    """The last attempt, the breaker, and what is pending."""

    pending: Trigger | None
    trigger: Trigger
    """Of the last attempt."""
    outcome: Outcome
    occupancy: int
    """Occupancy at the last attempt that did not commit, or the lowest since."""
    failures: int
    open: bool
    reason: str
    requests_since: int
    """Requests since the breaker opened or last let an attempt through."""
    refusals: int
    """Refusals by the provider since the last accepted request."""


class SegmentRecord(TypedDict):
    """One compaction; `compacted_from` is the checkpoint id before it."""

    thread: NotRequired[str]
    """In a fork: the thread that `compacted_from` lies in."""

    trigger: Trigger
    tokens_before: int
    tokens_after: int
    compacted_from: str | None
    summarised: int
    kept: int
    through: list[str]
    """Ids of the last user message and the last answer that were summarised."""
    files: list[str]
    references: list[str]
    worker_input_tokens: int
    worker_output_tokens: int
    worker_requests: int
    worker_namespace: str | None
    number: int
    """1 for the thread's first compaction."""
    scale: float
    """The provider's tokens per local token in the thread until then; the next segment begins with it."""


class Node(Protocol):
    """A step of the graph: reads the state, returns an update."""

    def __call__(self, state: Any) -> dict[str, Any]: ...


class NodeWithConfig(Protocol):
    """A step that reads the run's config as well."""

    def __call__(self, state: Any, config: RunnableConfig) -> dict[str, Any]: ...


def messages_channel() -> DeltaChannel[list[AnyMessage]]:
    """The channel of `messages`; the one place that names its kind."""
    return MigratedDelta(merge_messages, list, snapshot_frequency=SNAPSHOT_EVERY)


def merge_messages(state: Sequence[AnyMessage] | None, writes: Sequence[Any]) -> list[AnyMessage]:
    """The history after the writes, folded one by one; nothing is changed in place.

    A message whose id stands already replaces it where it stands. One without an id gets one
    from its position and content, so that a replay gives the same. `RemoveMessage` removes. A
    summary stands before all that it does not stand for.
    """
    merged: list[AnyMessage] = revived(state or [])
    places = {message.id: n for n, message in enumerate(merged)}
    for write in writes:
        given = after_summarised(_as_messages(write), merged)
        for message in given:
            if isinstance(message, RemoveMessage):
                merged = [] if message.id == REMOVE_ALL_MESSAGES else [m for m in merged if m.id != message.id]
                places = {m.id: n for n, m in enumerate(merged)}
            elif message.id and message.id in places:
                merged[places[message.id]] = message
            else:
                message = message if message.id else _with_id(message, len(merged), places)
                places[message.id] = len(merged)
                merged.append(message)
        if any(source_of(message) == SUMMARY for message in given):
            merged = in_order(merged)
            places = {m.id: n for n, m in enumerate(merged)}
    return merged


def _as_messages(write: Any) -> list[Any]:
    if write is None:
        return []
    # A bare pair of role and text; in strict mode a stored tuple comes back as a list.
    pair = isinstance(write, list) and len(write) == 2 and write[0] in ROLES and isinstance(write[1], str)
    return list(convert_to_messages(revived(write) if isinstance(write, list) and not pair else [write]))


def revived(stored: Sequence[Any]) -> list[Any]:
    """The list; messages that a LangGraph server reads from its store as plain JSON are messages again."""
    if not stored or not isinstance(stored[0], dict):
        return list(stored)
    return [_revived(item) for item in stored]


def _revived(item: Any) -> Any:
    """What is spelled in another way, as callers do, is left to LangChain."""
    dumped = isinstance(item, dict) and {"additional_kwargs", "response_metadata"} <= set(item)
    return messages_from_dict([{"type": item.get("type"), "data": item}])[0] if dumped else item


def _with_id(message: BaseMessage, position: int, taken: Any) -> Any:
    seed = f"{position}:{message.type}:{message.content!r}"
    while (identity := str(uuid5(NAMESPACE_OID, seed))) in taken:
        seed += "+"
    return message.model_copy(update={"id": identity})


def last_value(_old: Any, new: Any) -> Any:
    """A reducer for small keys: the last write wins, whoever wrote it."""
    return new


def replace_segments(state: list[SegmentRecord] | None, writes: Sequence[Any]) -> list[SegmentRecord]:
    """Segments by number; one written twice stands once."""
    merged = {record["number"]: record for record in state or ()}
    for records in writes:
        merged.update({record["number"]: record for record in records or ()})
    return [merged[number] for number in sorted(merged)]


class AgentInput(TypedDict):
    """What a caller, or a parent graph, hands in."""

    messages: Annotated[list[AnyMessage], messages_channel()]
    todos: NotRequired[Annotated[list[TodoItem], MigratedDelta(replace_todos, list)]]
    compact_request: NotRequired[Annotated[str | None, last_value]]


class AgentOutput(TypedDict):
    """What a caller, or a parent graph, gets back."""

    messages: Annotated[list[AnyMessage], messages_channel()]
    todos: NotRequired[Annotated[list[TodoItem], MigratedDelta(replace_todos, list)]]


class AgentState(TypedDict):
    """Everything that the graph keeps. Extend it for keys of your own (`state_schema`)."""

    messages: Annotated[list[AnyMessage], messages_channel()]
    todos: Annotated[list[TodoItem], MigratedDelta(replace_todos, list)]
    tracker: Annotated[list[FileRecord], DeltaChannel(merge_records, list)]
    segments: Annotated[list[SegmentRecord], DeltaChannel(replace_segments, list)]
    occupancy: NotRequired[Annotated[Occupancy, last_value]]
    pruned_through: NotRequired[Annotated[str | None, last_value]]
    reminder: NotRequired[Annotated[ReminderState, last_value]]
    compaction: NotRequired[Annotated[CompactionState, last_value]]
    compact_request: NotRequired[Annotated[str | None, last_value]]
    schema_version: NotRequired[Annotated[int, SchemaVersion(int, newest)]]
    remaining_steps: RemainingSteps
