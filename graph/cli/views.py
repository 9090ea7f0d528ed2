"""Three ways of showing events: live on a terminal, plain lines in a pipe, JSON for programs."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from io import TextIOWrapper
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.text import Text

from longthread.graph.cli.bar import ASCII, FANCY
from longthread.graph.cli.events import Event
from longthread.graph.cli.faults import OutputClosed
from longthread.graph.cli.lines import Lines
from longthread.graph.cli.printable import printable


class View(Protocol):
    """Shows events, one after the other."""

    @property
    def interactive(self) -> bool:
        """Whether a person reads along, who could be asked."""

    def show(self, event: Event) -> None:
        """Show one event.

        Raises:
            OutputClosed: nobody reads any more.
        """

    def paused(self) -> AbstractContextManager[None]:
        """Nothing moves on the screen, so that a question can be asked."""

    def close(self) -> None:
        """Leave the output at the beginning of a line."""


def open_view(as_json: bool) -> View:
    """The view that fits the standard output."""
    _never_fail_to_encode()
    if as_json:
        return JsonView(sys.stdout)
    console = make_console()
    if console.is_terminal and not console.is_dumb_terminal:
        from longthread.graph.cli.live import LiveView

        return LiveView(console)
    return PlainView(sys.stdout)


class Printer:
    """Prints lines that are complete: with colours on a terminal, plain elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console if console.is_terminal and not console.is_dumb_terminal else None
        self.glyphs = FANCY if self._console else ASCII

    def show(self, line: Text) -> None:
        """Print a line."""
        if self._console:
            self._console.print(line, soft_wrap=True)
        else:
            self.raw(line.plain + "\n")

    def say(self, text: str) -> None:
        """Print a line without style."""
        self.show(Text(printable(text)))

    def raw(self, text: str) -> None:
        """Write text as it is."""
        write(sys.stdout, text)


def open_printer() -> Printer:
    """The printer for the standard output."""
    _never_fail_to_encode()
    return Printer(make_console())


def _never_fail_to_encode() -> None:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def decoded(source: TextIO) -> TextIO:
    """The input, which from now on reads bytes that are no text as U+FFFD instead of failing."""
    if isinstance(source, TextIOWrapper):
        source.reconfigure(errors="replace")
    return source


class _Console(Console):
    def on_broken_pipe(self) -> None:
        discard(sys.stdout)
        raise OutputClosed


def make_console() -> Console:
    """The terminal; text from outside is never read as markup."""
    return _Console(markup=False, highlight=False, emoji=False)


def write(out: TextIO, text: str) -> None:
    """Write at once.

    Raises:
        OutputClosed: the reader is gone; what is still written then goes nowhere.
    """
    try:
        out.write(text)
        out.flush()
    except BrokenPipeError as error:
        discard(out)
        raise OutputClosed from error


def discard(out: TextIO) -> None:
    """Let what Python still flushes at its end go nowhere, as its documentation of SIGPIPE says."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    except (OSError, ValueError):
        return


class JsonView:
    """One event a line, in ASCII."""

    interactive = False

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        """Write the event."""
        write(self._out, json.dumps(event, default=_plain) + "\n")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing moves anyway."""
        yield

    def close(self) -> None:
        """Every event ended its line."""


def _plain(value: object) -> Any:
    return repr(value)


class PlainView:
    """Lines without colour or movement. The answer's words come as they are made."""

    interactive = False

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lines = Lines(ASCII)
        self._in_line = False
        self._gauge_due = False
        """One bar for each answer and compaction; on a terminal it follows everything."""

    def show(self, event: Event) -> None:
        """Write what there is to say of the event."""
        if event["event"] == "token":
            return self._stream(printable(event["text"]))
        lines = [line.plain for line in self._lines.of(event)]
        if event["event"] == "occupancy" and self._gauge_due:
            self._gauge_due = False
            lines = [self._lines.gauge(event["tokens"], event["source"]).plain]
        self._gauge_due |= event["event"] == "answer"
        if event["event"] == "answer" or lines:
            self._end_line()
        for line in lines:
            write(self._out, line + "\n")

    def _stream(self, text: str) -> None:
        if text:
            write(self._out, text)
            self._in_line = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._in_line:
            write(self._out, "\n")
            self._in_line = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A question begins on a line of its own."""
        self._end_line()
        yield

    def close(self) -> None:
        """End a line that was cut off."""
        self._end_line()
