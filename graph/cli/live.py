"""The view for a terminal: lines scroll up, and below them one line says what goes on and how full the context is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from longthread.graph.cli.bar import FANCY, WIDTH
from longthread.graph.cli.events import Event
from longthread.graph.cli.lines import Lines
from longthread.graph.cli.printable import printable, visible
from longthread.tools.text import one_line

SPINNER = "dots"
MAX_DOING = 40
NUMBERS, BESIDE_BAR, NARROWEST = 46, 66, 8
"""Columns for the numbers behind the bar; for them, their source and a label; and for the smallest bar."""
THINKING = "waiting for the model"
DOING = {"token": "answering", "compact_start": "the worker writes a summary"}


class LiveView:
    """Shows events on a terminal."""

    interactive = True

    def __init__(self, console: Console) -> None:
        self.console = console
        self._lines = Lines(FANCY, max(NARROWEST, min(WIDTH, console.width - BESIDE_BAR)))
        self._partial = ""
        """The last line of the answer that is being written."""
        self._doing = THINKING
        self._calls: dict[str, str] = {}
        """What the calls do that have no result yet, the oldest first."""
        self._occupancy: Event | None = None
        self._spinner: Any = Spinner(SPINNER, style="cyan")
        self._live: Live | None = None

    def show(self, event: Event) -> None:
        """Print what there is to say of the event, and let the bottom line follow it."""
        kind = event["event"]
        if kind == "run_start":
            self._print(event)
            return self._start()
        if kind in ("changes", "run_end"):
            self._stop()
            self._print(event)
            return self._last_gauge() if kind == "run_end" else None
        if kind == "token":
            self._stream(printable(event["text"]))
        elif kind == "occupancy":
            self._occupancy = event
        if kind not in ("token", "occupancy", "tool_call"):
            self._flush()
            self._print(event)
        self._follow(event)

    def _print(self, event: Event) -> None:
        for line in self._lines.of(event):
            self.console.print(line)

    def _follow(self, event: Event) -> None:
        kind = event["event"]
        if kind in ("run_start", "answer", "token"):
            self._calls.clear()
        elif kind == "tool_call":
            self._calls[event["id"]] = _doing(event)
        elif kind == "tool_result":
            self._calls.pop(event["id"], None)
        if kind == "approval" and event["decision"] == "approve":
            self._doing = _doing(event)
        elif kind not in ("occupancy", "answer"):
            self._doing = DOING.get(kind) or next(iter(self._calls.values()), THINKING)

    def _stream(self, text: str) -> None:
        """Whole rows go up; the last one, which may still grow, stays in the live part."""
        *whole, self._partial = (self._partial + text).split("\n")
        for line in whole:
            self.console.print(Text(line))
        rows = Text(self._partial).wrap(self.console, self.console.width)
        if len(rows) > 1:
            cut = self._partial.rstrip().rfind(rows[-1].plain.strip())
            self.console.print(Text(self._partial[:cut].rstrip()))
            self._partial = self._partial[cut:]

    def _flush(self) -> None:
        if self._partial.strip():
            self.console.print(Text(self._partial))
        self._partial = ""

    def _last_gauge(self) -> None:
        if self._occupancy:
            self.console.print(self._lines.gauge(self._occupancy["tokens"], self._occupancy["source"], label=""))

    def _start(self) -> None:
        if self._live is None:
            self._live = Live(self, console=self.console, transient=True, refresh_per_second=10)
            self._live.start()

    def _stop(self) -> None:
        self._flush()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The bottom line is taken away until the question is answered."""
        moving = self._live is not None
        self._stop()
        yield
        if moving:
            self._start()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._partial:
            yield Text(self._partial, no_wrap=True, overflow="crop")
        yield self._status(console)

    def _status(self, console: Console) -> Text:
        line = Text(no_wrap=True, overflow="ellipsis").append_text(self._spinner.render(console.get_time()))
        line.append(f" {self._doing}", "cyan")
        if self._occupancy:
            column = min(MAX_DOING, console.width // 3)
            line.truncate(column, overflow="ellipsis", pad=True)
            width = max(NARROWEST, min(WIDTH, console.width - column - NUMBERS))
            line.append_text(self._lines.gauge(self._occupancy["tokens"], label=" ", width=width))
        return line


def _doing(event: Event) -> str:
    args = event["args"]
    what = next((str(args[key]) for key in ("command", "path", "pattern") if args.get(key)), "")
    return one_line(f"{printable(event['name'])} {visible(what)}", MAX_DOING - 4)
