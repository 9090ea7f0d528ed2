"""Lines of a file as the model reads them: numbered, within a number of tokens, with notes on what is missing."""

from collections.abc import Iterator

from longthread.tools.filetext import FileLines
from longthread.tools.text import clean, one_line
from longthread.tools.tokens import count_text

MAX_LINE_CHARACTERS = 2_000
NOTE_TOKENS = 100
"""Kept free for the notes."""


def show_path(path: str) -> str:
    """The path on one line, quoted and escaped where it has characters that cannot be printed."""
    return one_line(path if path.isprintable() else repr(path), 300)


def view(file: FileLines, max_tokens: int) -> tuple[str, str]:
    """The numbered lines that fit into `max_tokens`, with notes; and the one-line summary."""
    shown = _fitting(file, max_tokens - NOTE_TOKENS)
    last = file.first + len(shown) - 1
    notes = list(_notes(file, last))
    span = f"lines {file.first}-{last} of {file.total}" if file.total else "empty file"
    return "\n".join([*shown, *notes]), f"read {show_path(file.path)} {span}"


def numbered(file: FileLines) -> Iterator[str]:
    """Each line behind its number and a tab, cut where it is very long."""
    for number, line in enumerate(file.lines, file.first):
        yield f"{number}\t{cut_line(clean(line))}"


def cut_line(line: str, limit: int = MAX_LINE_CHARACTERS) -> str:
    """At most `limit` characters of a line, with a note where it is longer."""
    if len(line) <= limit:
        return line
    return f"{line[:limit]} [… line cut, {len(line)} characters in all; grep finds parts of it]"


def _fitting(file: FileLines, max_tokens: int) -> list[str]:
    shown: list[str] = []
    for line in numbered(file):
        max_tokens -= count_text(line) + 1
        if max_tokens < 0 and shown:
            break
        shown.append(line)
    return shown


def _notes(file: FileLines, last: int) -> Iterator[str]:
    if not file.total:
        yield "[the file is empty]"
    if last < file.total:
        yield f"[lines {file.first}-{last} of {file.total} shown; go on with offset={last + 1}]"
    if file.lossy:
        yield "[not valid UTF-8: what could not be decoded is shown as \ufffd; edit_file refuses this file]"
