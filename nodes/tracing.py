"""What a trace shows of a node: its name and time, not the whole history again at every step."""

from collections.abc import Mapping
from typing import Any

from langgraph.types import TracePolicy


def in_short(value: Any) -> Any:
    """Counts for lists, plain values as they are, so that traces grow in proportion to the work."""
    if isinstance(value, Mapping):
        return {str(key): _brief(item) for key, item in value.items()}
    return {"value": _brief(value)}


def _brief(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return f"{len(value)} items"
    return value if isinstance(value, str | int | float | bool | dict | None) else type(value).__name__


LEAN = TracePolicy(process_inputs=in_short, process_outputs=in_short)
