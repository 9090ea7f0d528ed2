"""The scripted session: six parts of work on five files each, with facts planted in every message.

A fact is one line that begins with its key, `[note-017] …`. It is visible in a request where that
line stands in it whole. Users say 40 tokens a message, files have about 1 500 tokens, tool output
about 900, all at four characters a token.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

PARTS = 6
FILES = 5
TODOS = 8
LINES = 75
FACT = re.compile(r"\[[a-z]+-\d+\] [^\n]*")


@dataclass(frozen=True)
class Step:
    """One answer of the model: what it says, and the call that it makes, if any."""

    text: str
    tool: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    fact: str = ""
    """The fact in the result of `run_tests`."""
    fails: bool = False
    """The result is an error."""


@dataclass(frozen=True)
class Turn:
    """What the user says and what the model does then; the last step makes no call."""

    prompt: str
    steps: list[Step]


def session() -> list[Turn]:
    """All turns: three in each part, to read, to mend, and to check."""
    notes = _Notes()
    return [turn for part in range(PARTS) for turn in _part(part, notes)]


class _Notes:
    """Numbers the facts that the assistant tells."""

    def __init__(self) -> None:
        self._count = 0

    def next(self, path: str) -> str:
        self._count += 1
        n = self._count
        kinds = (
            f"Found: {path} holds its lock for {n * 7} ms.",
            f"Decided: {path} keeps {n * 3} rows, for the index is rebuilt anyway.",
            f"Done: {path} no longer drops entry {n * 11}.",
        )
        return f"[note-{n}] {kinds[n % 3]}"


def _part(part: int, notes: _Notes) -> Iterator[Turn]:
    paths = [path_of(part, n) for n in range(FILES)]
    reading = [Step(f"I read {path}.", "read_file", {"path": path}) for path in paths]
    plan = Step("First the plan.", "todo_write", {"todos": todos_in(part)})
    yield Turn(_prompt(part, 0), [plan, *reading, Step(f"All five are read.\n{notes.next(paths[0])}")])
    yield Turn(_prompt(part, 1), [*_mending(part, paths, notes), Step("All five are mended.")])
    yield Turn(_prompt(part, 2), [*_checking(paths), Step(f"Everything is checked.\n{notes.next(paths[-1])}")])


def _mending(part: int, paths: list[str], notes: _Notes) -> Iterator[Step]:
    for n, path in enumerate(paths):
        error = f"[error-{part * FILES + n}] test_{n} of part {part} failed: expected {n + 3}, got {part}"
        yield _testing(f"I run the test of {path}.", path, error if n < 3 else "")
        yield Step(f"I look at it again.\n{notes.next(path)}", "read_file", {"path": path})
        edit = {"path": path, "old": line(part, n, 7), "new": f"{line(part, n, 7)} + 1"}
        yield Step(f"I mend line 8 of {path}.", "edit_file", edit)


def _checking(paths: list[str]) -> Iterator[Step]:
    for n, path in enumerate(paths):
        yield _testing(f"I check {path}.", path)
        if n % 2:
            yield Step("The log is odd, so I look again.", "read_file", {"path": path})


def _testing(text: str, path: str, error: str = "") -> Step:
    seed = crc32(f"{text}{path}".encode())
    return Step(text, "run_tests", {"target": path}, error or f"[log-{seed}] {path} was slow today", bool(error))


def path_of(part: int, n: int) -> str:
    """A file of a part."""
    return f"part_{part}/module_{n}.py"


def line(part: int, n: int, number: int) -> str:
    """A line of that file, unlike any other; about 80 characters."""
    return f"# rule {number} of column {n} in table {part}: the archive is checked before anything is written"


def write_files(folder: Path) -> None:
    """The files of every part, as they are before the session."""
    for part in range(PARTS):
        for n in range(FILES):
            file = folder / path_of(part, n)
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(f"{line(part, n, number)}\n" for number in range(LINES)))


def todos_in(part: int) -> list[dict[str, str]]:
    """The list as it is written at the beginning of a part: one item is done with each."""
    statuses = ["completed"] * part + ["in_progress"] + ["pending"] * (TODOS - part - 1)
    return [
        {"id": str(n), "content": f"[todo-{n}] bring module group {n} in order, see ticket {n * 19}", "status": status}
        for n, status in enumerate(statuses)
    ]


def test_output(step: Step) -> str:
    """What `run_tests` says: the error in ten lines, or a log of about 1 200 tokens with its fact in the middle."""
    target = step.args["target"]
    if step.fails:
        return "\n".join([step.fact, *(f"  frame {n} in runner.py, line {n * 13}" for n in range(9))])
    log = [f"{target}: case {n} passed and the archive was written once" for n in range(66)]
    return "\n".join([*log[:40], step.fact, *log[40:]])


def _prompt(part: int, turn: int) -> str:
    number = part * 3 + turn
    task = ("Read all five modules first.", "Now mend each of them.", "Now check each of them.")[turn]
    rule = f"Never edit generated/table_{number}.py by hand: ticket {number * 23} rebuilds it."
    return f"[directive-{number}] {rule}\nPart {part} of six: please go on with it as before. {task}"
