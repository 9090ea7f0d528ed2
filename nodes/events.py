"""Custom stream events: what a client sees beside messages."""

from typing import Any, Literal

from langgraph.config import get_stream_writer

EventName = Literal["compact_start", "compact_done", "compact_failed", "compact_skipped", "pruned", "reminder"]


def emit(event: EventName, **data: Any) -> None:
    """Write `{"event": name, **data}` to the custom stream; nothing happens outside of a run."""
    try:
        write = get_stream_writer()
    except RuntimeError:
        return
    write({"event": event, **data})
