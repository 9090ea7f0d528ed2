"""What the tail of a rebuilt history still shows of files: whole, or as a trace only."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from longthread.nodes.compaction.auto_read import ReadIn
from longthread.nodes.history.cut import SHORTENED
from longthread.nodes.history.prune import CLEARED
from longthread.tools.results import text_of
from longthread.tools.tracker import FileRecord, find


def shown_calls(tail: Sequence[AnyMessage]) -> set[str]:
    """Calls that stand in the tail whole, with their result, under the ids that the tracker has."""
    cut = {call["id"] for m in tail if isinstance(m, AIMessage) and _is_cut(m) for call in m.tool_calls}
    whole = (m for m in tail if isinstance(m, ToolMessage) and not _is_cut(m) and m.tool_call_id not in cut)
    return {str(m.additional_kwargs.get("call", m.tool_call_id)) for m in whole}


def _is_cut(message: AnyMessage) -> bool:
    return any(message.additional_kwargs.get(mark) for mark in (CLEARED, SHORTENED))


def is_visible(file: ReadIn, tracker: Sequence[FileRecord], tail: Sequence[AnyMessage]) -> bool:
    """The tail shows this text whole, as it is on disk now, so that it need not be read in."""
    record = find(tracker, file.path)
    if file.reason or record is None or not record["known"] or record["call"] not in shown_calls(tail):
        return False
    if record["hash"] and record["hash"] != file.hash:
        return False
    return any(_shows(text, file) for text in _texts(tail, record["call"]))


def _shows(text: str, file: ReadIn) -> bool:
    """The text has these lines, plain or each behind its number and a tab."""
    first = file.lines[0] if file.lines else 1
    numbered = {f"{n}\t{line}" for n, line in enumerate(file.text.split("\n"), first)}
    return file.text in text or numbered <= set(text.split("\n"))


def _texts(tail: Sequence[AnyMessage], call_id: str) -> list[str]:
    """What the result of a call says, and what was written with it."""
    found: list[Any] = []
    for message in tail:
        if isinstance(message, ToolMessage):
            ids = (message.tool_call_id, message.additional_kwargs.get("call"))
            found += [text_of(message)] if call_id in ids else []
        elif isinstance(message, AIMessage):
            found += [value for call in message.tool_calls if call["id"] == call_id for value in call["args"].values()]
    return [text for text in found if isinstance(text, str)]
