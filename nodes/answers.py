"""An answer as it goes into the history: storable, stamped, every call answerable."""

import json
from collections.abc import Sequence
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.utils.json import parse_partial_json

from longthread.nodes.history.content import with_calls
from longthread.nodes.history.weights import UNKNOWN
from longthread.tools.results import calls_of
from longthread.tools.text import clean, is_storable, storable, storable_dict

MALFORMED = "malformed_arguments"
CUT_OFF = "cut_off_by_output_limit"
"""Beside `MALFORMED`: the call is the one in which the output limit ended the answer."""
LIMITS: Final = ("length", "max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded")
_ALWAYS_SAY_WHY: Final = {"openai", "azure", "azure_openai", "deepseek", "xai"}
"""Providers, as answers name them, whose last event says why the answer ended."""
_REASONS: Final = ("finish_reason", "stop_reason", "done_reason")


class EndedEarly(ConnectionError):
    """A stream ended cleanly, and before its answer was complete; the same request may succeed."""


def complete(answer: AIMessage) -> AIMessage:
    """The answer itself, if its provider said why it ended or is one that need not say so.

    Raises:
        EndedEarly: it was streamed in OpenAI's way, and the event with the reason never came.
    """
    metadata = answer.response_metadata
    if metadata.get("model_provider") in _ALWAYS_SAY_WHY and not {*_REASONS, "status"} & metadata.keys():
        raise EndedEarly("the stream ended before the answer was complete; make the request again")
    return answer


def is_cut_off(answer: AIMessage) -> bool:
    """The model's output limit ended the message."""
    metadata = answer.response_metadata
    return any(metadata.get(name) in LIMITS for name in _REASONS) or metadata.get("status") == "incomplete"


def normalised(
    answer: AIMessage, history: Sequence[AnyMessage], pruned: str | None, name: str, model: str | None = None
) -> AIMessage:
    """The answer with a free id, free call ids, readable calls, and the stamp of its request.

    `model` is the one that was asked for; a server may report another name for it.

    A server may repeat ids, number its calls anew in each answer, leave ids out, or cut a call's
    JSON off: such a call stays, so that the model gets an error result for it. So does the call in
    which the output limit ended the answer, also where LangChain completed its JSON.
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
            "usage_metadata": answer.usage_metadata if is_storable(answer.usage_metadata) else None,
            "response_metadata": storable(answer.response_metadata),
        }
    )


def goes_on(history: Sequence[AnyMessage]) -> bool:
    """The next request repeats the last one and its answer: that answer stands where its stamp says."""
    newest = max((n for n, message in enumerate(history) if isinstance(message, AIMessage)), default=0)
    return newest > 0 and stands_as_stamped(history, newest)


def stands_as_stamped(history: Sequence[BaseMessage], n: int) -> bool:
    """The answer at position `n` stands where its stamp says, behind the message that was the first then."""
    stamp = history[n].additional_kwargs.get("request") or {}
    return stamp.get("n") == n and (n == 0 or stamp.get("first") == history[0].id)


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
    calls = [*map(_read, answer.tool_calls), *map(_unread, answer.invalid_tool_calls)]
    if calls and is_cut_off(answer):
        _distrust(calls[_cut_call(answer)])
    taken = {call["id"] for message in history for call in calls_of(message)}
    for n, call in enumerate(calls):
        call["id"] = clean(call["id"] or "")
        if not call["id"] or call["id"] in taken:
            call["id"] = f"call_{uuid5(NAMESPACE_OID, f'{identity}:{n}').hex[:24]}"
        taken.add(call["id"])
        call["type"] = "tool_call"
    return calls


def _read(call: ToolCall) -> ToolCall:
    args: object = call["args"]
    found = storable_dict(args) if isinstance(args, dict) else {MALFORMED: clean(json.dumps(args, default=repr))}
    return ToolCall(name=clean(call["name"]), args=found, id=call["id"])


def _unread(call: InvalidToolCall) -> ToolCall:
    raw = clean(str(call["args"] or ""))
    return ToolCall(name=clean(call["name"] or "unknown"), args={MALFORMED: raw}, id=call["id"])


def _cut_call(answer: AIMessage) -> int:
    """Where the call stands that the output limit broke off.

    Not streamed it is among the unreadable ones. Streamed, LangChain has completed its JSON, so that
    it looks like any other, and its raw text is gone: it is the last one.
    """
    readable = len(answer.tool_calls)
    broken = [n for n, call in enumerate(answer.invalid_tool_calls) if _breaks_off(call["args"])]
    return readable + broken[-1] if broken else readable - 1


def _breaks_off(raw: str | None) -> bool:
    try:
        return isinstance(parse_partial_json(raw or ""), dict)
    except ValueError:
        return False


def _distrust(call: ToolCall) -> None:
    raw = call["args"].get(MALFORMED) or json.dumps(call["args"], ensure_ascii=False, default=repr)
    call["args"] = {MALFORMED: raw, CUT_OFF: True}
