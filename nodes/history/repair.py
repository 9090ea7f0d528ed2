"""The first projection of a request: every call has its result, right after it; nothing else is a result.

Providers refuse a request that breaks this, and a kill, a cancellation or a user who interrupts
breaks it. The history itself stays as it is.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar
from uuid import NAMESPACE_OID, uuid5

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from longthread.nodes.history.call_ids import CallIds, sound_name
from longthread.nodes.history.content import is_empty, sound_content
from longthread.nodes.history.groups import INTERRUPTED, Slot, match_results
from longthread.tools.results import calls_of

M = TypeVar("M", bound=BaseMessage)

INTERRUPTED_TEXT = (
    "This call was interrupted before it finished. It may or may not have taken effect: check before you repeat it."
)
UNPARSED_TEXT = (
    "The arguments of this call were not valid JSON, so nothing was run. Make the call again with valid arguments."
)
EMPTY_USER_TEXT = "(empty message)"


def repair(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages as a provider accepts them; an equal list when they already are so. Nothing is changed in place.

    - Results follow their call in call order. One that came late moves up to it.
    - A call without a result gets an error result that says so, with an id made from the call.
    - A result without a call is dropped, and so is a second result of one call.
    - Call ids are unique and not empty; calls whose arguments could not be parsed are ordinary calls.
    - Names of tools have the letters and length that providers take.
    - Blank text is left out.
    - Assistant and system messages without text, image or call are dropped; an empty user message
      says that it is empty.
    """
    results = match_results(messages)
    ids = CallIds()
    repaired: list[AnyMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            answers = [results.get(Slot(index, n)) for n in range(len(calls_of(message)))]
            repaired += _group(message, ids, [None if at is None else messages[at] for at in answers])
        elif not isinstance(message, ToolMessage):
            repaired += _other(message)
    return repaired


def request_order(messages: Sequence[AnyMessage]) -> list[int]:
    """Indices of the messages in the order in which a request has them, without what it leaves out."""
    results = match_results(messages)
    ordered: list[int] = []
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            calls = range(len(calls_of(message)))
            ordered += [index] if calls or not is_empty(message) else []
            ordered += [results[slot] for n in calls if (slot := Slot(index, n)) in results]
        elif not isinstance(message, ToolMessage):
            ordered.append(index)
    return ordered


def _group(message: AIMessage, ids: CallIds, results: Sequence[AnyMessage | None]) -> Iterator[AnyMessage]:
    if not results and is_empty(message):
        return
    sound = ids.sound(message)
    yield sound
    for position, (call, result) in enumerate(zip(sound.tool_calls, results, strict=True)):
        if isinstance(result, ToolMessage):
            yield _under(call, result)
        else:
            yield _stand_in(message, position, call)


def _under(call: ToolCall, result: ToolMessage) -> ToolMessage:
    """The result under the call's id; `additional_kwargs["call"]` remembers the id that the history has."""
    sound = _with_sound_content(result) if isinstance(result.content, list) else result
    if sound.name is not None and sound.name != sound_name(sound.name):
        sound = sound.model_copy(update={"name": sound_name(sound.name)})
    if result.tool_call_id == call["id"]:
        return sound
    remembered = {**result.additional_kwargs, "call": result.tool_call_id}
    return sound.model_copy(update={"tool_call_id": call["id"], "additional_kwargs": remembered})


def _stand_in(message: AIMessage, position: int, call: ToolCall) -> ToolMessage:
    unparsed = position >= len(message.tool_calls)
    return ToolMessage(
        UNPARSED_TEXT if unparsed else INTERRUPTED_TEXT,
        id=str(uuid5(NAMESPACE_OID, f"{INTERRUPTED}:{message.id}:{position}:{call['id']}")),
        name=call["name"],
        tool_call_id=call["id"],
        status="error",
        additional_kwargs={"source": INTERRUPTED, "summary": f"{call['name']}: interrupted"},
    )


def _other(message: AnyMessage) -> list[AnyMessage]:
    if not is_empty(message):
        return [_with_sound_content(message)]
    if isinstance(message, HumanMessage):
        return [message.model_copy(update={"content": EMPTY_USER_TEXT})]
    return [] if isinstance(message, SystemMessage) else [message]


def _with_sound_content(message: M) -> M:
    content = sound_content(message.content)
    return message if content == message.content else message.model_copy(update={"content": content})
