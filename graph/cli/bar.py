"""The occupancy bar: how full the context is, against the two thresholds."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.text import Text

from longthread.graph.cli.events import Thresholds
from longthread.tools.todo import MARKS

WIDTH = 36
HEADROOM = 10 / 9
"""How much more than the larger threshold the bar shows: with thresholds made for a window, the window."""


@dataclass(frozen=True)
class Glyphs:
    """The characters of a display."""

    full: str
    empty: str
    mark: str
    ends: tuple[str, str]
    ok: str
    failed: str
    todo: Mapping[str, str]
    dots: str


FANCY = Glyphs("█", "░", "┃", ("▕", "▏"), "✓", "✗", {"pending": "○", "in_progress": "◐", "completed": "●"}, "…")
ASCII = Glyphs("#", "-", "|", ("[", "]"), "ok", "failed", MARKS, "...")


def bar(tokens: int, thresholds: Thresholds, glyphs: Glyphs = FANCY, width: int = WIDTH) -> Text:
    """The bar alone; a mark stands where each threshold is."""
    limits = [limit for limit in (thresholds.compact_threshold, thresholds.compact_request_threshold) if limit]
    scale = max([tokens, 1, *(limit * HEADROOM for limit in limits)])
    marks = {min(width - 1, int(limit / scale * width)) for limit in limits}
    filled = min(width, max(round(tokens / scale * width), 1 if tokens else 0))
    colour = colour_of(tokens, thresholds)
    text = Text(glyphs.ends[0], style="dim")
    for cell in range(width):
        if cell in marks:
            text.append(glyphs.mark, style="bold")
        else:
            text.append(glyphs.full, colour) if cell < filled else text.append(glyphs.empty, "dim")
    return text.append(glyphs.ends[1], style="dim")


def gauge(tokens: int, thresholds: Thresholds, glyphs: Glyphs = FANCY, source: str = "", width: int = WIDTH) -> Text:
    """The bar with its numbers: `▕███░░┃░┃▏ 1,234 tokens (measured), compacts at 1,500 | 1,800`."""
    limits = " | ".join(f"{limit:,}" for limit in _limits(thresholds))
    if not limits:
        return Text(f"{tokens:,} tokens{_in_brackets(source)}, no thresholds known here")
    numbers = Text(f" {tokens:,} tokens", style=f"bold {colour_of(tokens, thresholds)}")
    line = bar(tokens, thresholds, glyphs, width).append_text(numbers)
    return line.append(f"{_in_brackets(source)}, compacts at {limits}", style="dim")


def _limits(thresholds: Thresholds) -> list[int]:
    return [limit for limit in (thresholds.compact_threshold, thresholds.compact_request_threshold) if limit]


def _in_brackets(source: str) -> str:
    return f" ({source})" if source else ""


def colour_of(tokens: int, thresholds: Thresholds) -> str:
    """Green below both thresholds, yellow above one, red above both or the only one."""
    above = sum(tokens > limit for limit in _limits(thresholds))
    if not above:
        return "green"
    return "red" if above == len(_limits(thresholds)) else "yellow"
