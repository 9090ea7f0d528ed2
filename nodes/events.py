"""Custom stream events: what a client sees beside messages."""

from typing import Any, Literal

from langgraph.config import get_stream_writer

from longthread.nodes.tracing import annotate

EventName = Literal["compact_start", "compact_done", "compact_failed", "compact_skipped", "pruned", "reminder"]


def emit(event: EventName, **data: Any) -> None:
    """Write `{"event": name, **data}` to the custom stream, and to the trace of the step; nothing outside of a run."""
    annotate(event=event, **data)
    try:
        write = get_stream_writer()
    except RuntimeError:
        return
    write({"event": event, **data})
