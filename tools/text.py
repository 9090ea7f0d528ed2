"""Text from outside, made safe: cleaned for a checkpoint, escaped for a tag, cut, fenced."""

import json
import re
from collections.abc import Mapping
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace what a checkpoint cannot hold (NUL, lone surrogates) by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def as_text(value: object) -> str:
    """Any tool output as clean text: strings as they are, the rest as JSON, else its `repr`."""
    if isinstance(value, str):
        return clean(value)
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return clean(_safe_repr(value))


def storable(value: object) -> object:
    """The value as a checkpoint can hold it: plain JSON values, every text clean, the rest by its `repr`.

    Integers beyond 64 bit become text; keys become strings.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if value is None or isinstance(value, bool | float | bytes):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    return clean(_safe_repr(value))


def storable_dict(value: Mapping[str, object]) -> dict[str, Any]:
    """As `storable`, for a mapping."""
    return {clean(str(key)): storable(item) for key, item in value.items()}


def is_storable(value: object) -> bool:
    """A checkpoint can hold the value as it is."""
    return bool(storable(value) == value)


def _safe_repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def escape(text: str) -> str:
    """Text that is put between tags: it can neither open nor close one."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def one_line(text: str, limit: int = 200) -> str:
    """The text on one line of at most `limit` characters, control characters shown as spaces."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in clean(text[: limit * 8])).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def reminder(body: str) -> str:
    """The `<system-reminder>` block around a body that is already escaped."""
    return f"<system-reminder>\n{body}\n</system-reminder>"


def fence(text: str) -> str:
    """The text in a fence of backticks longer than any run of them inside it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}\n{text}\n{marks}"
