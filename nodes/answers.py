"""An answer as it goes into the history: storable, stamped, every call answerable."""

from collections.abc import Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from langchain_core.messages import AIMessage, AnyMessage, ToolCall

from longthread.nodes.history.content import with_calls
from longthread.nodes.history.weights import UNKNOWN
from longthread.tools.results import calls_of
from longthread.tools.text import clean, storable, storable_dict

MALFORMED = "malformed_arguments"


def normalised(
    answer: AIMessage, history: Sequence[AnyMessage], pruned: str | None, name: str, model: str | None = None
) -> AIMessage:
    """The answer with a free id, free call ids, readable calls, and the stamp of its request.

    `model` is the one that was asked for; a server may report another name for it.

    A server may repeat ids, number its calls anew in each answer, leave ids out, or cut a call's
    JSON off: such a call stays, so that the model gets an error result for it.
    """
    identity = _free_id(clean(answer.id or ""), history)
    calls = _calls(answer, identity, history)
    stamp: dict[str, Any] = {"n": len(history), "first": history[0].id if history else None, "pruned": pruned}
    if model and model != UNKNOWN:
        stamp["model"] = model
    return answer.model_copy(
        update={
            "id": identity,
            "name": name,
            "content": with_calls(storable(answer.content), calls_of(answer), calls),  # type: ignore[arg-type]  # stays a str or list
            "tool_calls": calls,
            "invalid_tool_calls": [],
            "additional_kwargs": {**_extra(answer), "request": stamp},
            "response_metadata": storable(answer.response_metadata),
        }
    )


def goes_on(history: Sequence[AnyMessage]) -> bool:
    """The next request repeats the last one and its answer: that answer stands where its stamp says."""
    newest = max((n for n, message in enumerate(history) if isinstance(message, AIMessage)), default=0)
    stamp = history[newest].additional_kwargs.get("request") if history else None
    return bool(newest and stamp and stamp["n"] == newest and stamp["first"] == history[0].id)


def _extra(answer: AIMessage) -> dict[str, Any]:
    """What the provider sent beside; not the raw calls, which the tool calls repeat."""
    left_out = {"request", *(("tool_calls", "function_call") if answer.tool_calls or answer.invalid_tool_calls else ())}
    return storable_dict({k: v for k, v in answer.additional_kwargs.items() if k not in left_out})


def _free_id(wanted: str, history: Sequence[AnyMessage]) -> str:
    taken = {message.id for message in history}
    if wanted and wanted not in taken:
        return wanted
    return str(uuid5(NAMESPACE_OID, f"{wanted}:{len(history)}:{history[-1].id if history else None}"))


def _calls(answer: AIMessage, identity: str, history: Sequence[AnyMessage]) -> list[ToolCall]:
    """Every call, those that could not be read too, under ids that the history does not have yet."""
    calls = [ToolCall(name=clean(c["name"]), args=storable_dict(c["args"]), id=c["id"]) for c in answer.tool_calls]
    for broken in answer.invalid_tool_calls:
        raw = {MALFORMED: clean(str(broken["args"] or ""))}
        calls.append(ToolCall(name=clean(broken["name"] or "unknown"), args=raw, id=broken["id"]))
    taken = {call["id"] for message in history for call in calls_of(message)}
    for n, call in enumerate(calls):
        call["id"] = clean(call["id"] or "")
        if not call["id"] or call["id"] in taken:
            call["id"] = f"call_{uuid5(NAMESPACE_OID, f'{identity}:{n}').hex[:24]}"
        taken.add(call["id"])
        call["type"] = "tool_call"
    return calls
