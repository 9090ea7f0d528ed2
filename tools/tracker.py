"""The read tracker: which files the model has seen or touched, most recent first.

A record says what the text was (`hash`), what was done last (`action`), which tool
call showed the text (`call`) and whether that text still stands in the context
(`known`). A pruned read or a compaction takes `known` away; recency stays.
"""

import hashlib
from collections.abc import Collection, Sequence
from typing import Literal

from typing_extensions import TypedDict

MAX_PATHS = 20
Action = Literal["read", "written", "edited"]


class FileRecord(TypedDict):
    """One file in the tracker; plain JSON values."""

    path: str
    """Relative to the workspace, with forward slashes."""
    hash: str
    """SHA-256 of the file's bytes, in hex."""
    action: Action
    call: str
    """Id of the tool call that showed the model the text; an edit keeps the one before it."""
    known: bool
    """The text stands in the context, so the file may be edited."""


def content_hash(data: bytes) -> str:
    """SHA-256 of the bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def merge_records(state: list[FileRecord] | None, writes: Sequence[Sequence[FileRecord] | None]) -> list[FileRecord]:
    """Put written records to the front, one per path, at most 20. Idempotent; keeps no reference."""
    merged: dict[str, FileRecord] = {}
    for records in [*reversed(writes), state]:
        for record in records or ():
            merged.setdefault(record["path"], record)
    return [record.copy() for record in list(merged.values())[:MAX_PATHS]]


def find(records: Sequence[FileRecord], path: str) -> FileRecord | None:
    """The record of a path, if it is tracked."""
    return next((record for record in records if record["path"] == path), None)


def recent_files(records: Sequence[FileRecord], n: int) -> list[str]:
    """The `n` most recently touched paths."""
    return [record["path"] for record in records[:n]]


def forget_calls(records: Sequence[FileRecord], calls: Collection[str]) -> list[FileRecord]:
    """What to write when the tool results of `calls` are no longer shown: their records without `known`.

    Those that are more recent come with them, so that writing it changes no order. Empty if there
    is nothing to forget.
    """
    lost = [n for n, record in enumerate(records) if record["known"] and record["call"] in calls]
    upto = records[: lost[-1] + 1] if lost else []
    return [{**record, "known": record["known"] and record["call"] not in calls} for record in upto]
