"""What is carried over a compaction beside the summary: appendices, tracker, references."""

from collections.abc import Collection, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage

from longthread.nodes.compaction.auto_read import ReadIn
from longthread.nodes.history.appendix import EMPTY, Appendix, last_errors, pin_users, touched_files
from longthread.nodes.history.cut import SHORTENED
from longthread.nodes.history.rebuild import last_summary
from longthread.nodes.history.speakers import is_users
from longthread.nodes.settings import CompactionConfig
from longthread.tools.tracker import MAX_PATHS, FileRecord
from longthread.tools.worker import Desk

MAX_REFERENCES = 40
"""Of the worker's own, the newest."""
IN_TAIL = "shown in the messages below"


def carried_appendix(
    summarised: Sequence[AnyMessage],
    cut: Sequence[AnyMessage],
    tracker: Sequence[FileRecord],
    config: CompactionConfig,
    scale: float,
) -> Appendix:
    """The appendices after these messages are summarised, going on from those of the summary among them.

    `cut` are messages of the tail that it shows shortened, as they were (see `cut_short`): the user's are
    pinned like those that were summarised. Files and errors take half of what the summary may take, at most.
    """
    before = _carried(last_summary(summarised))
    spoken = [*summarised, *cut]
    pinned = pin_users(before["pinned"], spoken, round(config.pinned_user_tokens / scale))
    known = {pin["id"] for pin in before["pinned"]}
    users = sum(is_users(message) and message.id not in known for message in spoken)
    quarter = round(config.summary_max_tokens / scale / 4)
    return {
        "pinned": pinned,
        "unpinned": max(0, before["unpinned"] + len(before["pinned"]) + users - len(pinned)),
        "files": touched_files(before["files"], tracker, quarter),
        "errors": last_errors(before["errors"], summarised, quarter),
    }


def cut_short(whole: Sequence[AnyMessage], tail: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages, as they were, that the tail made of them shows shortened."""
    return [message for message, shown in zip(whole, tail, strict=True) if shown.additional_kwargs.get(SHORTENED)]


def _carried(summary: AnyMessage | None) -> Appendix:
    appendix: Any = summary.additional_kwargs.get("appendix") if summary else None
    return cast("Appendix", {**EMPTY, **appendix}) if isinstance(appendix, dict) else EMPTY


def references_of(
    desk: Desk, tracker: Sequence[FileRecord], read: Sequence[ReadIn], files: Sequence[ReadIn]
) -> list[tuple[str, str]]:
    """Paths and notes of what is worth knowing about.

    What the worker named, edited files that it did not mark, and marked ones that were `read` and
    are not among the `files` of the new history, since the tail shows them.
    """
    included = {file.path for file in files}
    notes = {reference["path"]: reference["note"] for reference in desk["references"][-MAX_REFERENCES:]}
    for record in tracker:
        if record["action"] != "read":
            notes[record["path"]] = notes.get(record["path"]) or record["action"]
    notes |= {file.path: notes.get(file.path) or IN_TAIL for file in read}
    return [(path, note) for path, note in notes.items() if path not in included]


def known_records(tracker: Sequence[FileRecord], files: Sequence[ReadIn], shown: Collection[str]) -> list[FileRecord]:
    """The tracker afterwards: a file is known only if its text stands in the new history; recency stays."""
    read_in = {file.path: file for file in files if not file.reason}
    records = [_after(record, read_in.get(record["path"]), shown) for record in tracker]
    tracked = {record["path"] for record in records}
    records += [_new(file) for path, file in read_in.items() if path not in tracked]
    while len(records) > MAX_PATHS and (unknown := [r for r in records if not r["known"]]):
        records.remove(unknown[-1])
    return records[:MAX_PATHS]


def _after(record: FileRecord, file: ReadIn | None, shown: Collection[str]) -> FileRecord:
    if file:
        return {**record, "hash": file.hash, "known": True, "call": ""}
    return {**record, "known": record["known"] and record["call"] in shown}


def _new(file: ReadIn) -> FileRecord:
    return {"path": file.path, "hash": file.hash, "action": "read", "call": "", "known": True}
