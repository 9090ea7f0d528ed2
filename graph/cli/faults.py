"""What ends a command other than its own end, as one line and an exit code."""

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from langgraph.errors import GraphDrained, GraphRecursionError

from longthread.graph.cli.printable import counted, printable
from longthread.nodes.error_shape import Shape, links, shape_of
from longthread.nodes.refusals import is_transient
from longthread.tools.errors import LongthreadError, RequestLimitReached
from longthread.tools.text import one_line

DONE, UNFORESEEN, TO_PUT_RIGHT, INTERRUPTED, OUTPUT_CLOSED, TERMINATED = 0, 1, 2, 130, 141, 143
MAX_LINE = 600


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived while nothing was under way that could be brought to an end first.

    A `KeyboardInterrupt`, since an event loop keeps every other exception that a callback is hit by.
    """


class OutputClosed(Exception):
    """Whoever read the output is gone."""


class Ended(Exception):
    """A turn ended before its end: the line that says why, and the exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Circumstances:
    """What was under way, as far as it helps to word an error."""

    model: str = ""
    server: str = ""
    resume: str = ""
    """What to type to go on; empty while nothing is saved that could go on."""


def explained(error: BaseException, at: Circumstances) -> tuple[str, int]:
    """One printable line that says what happened and the way out, and the exit code."""
    text, code = _text(error, at)
    line = one_line(printable(text), MAX_LINE)
    if at.resume and line:
        resume = f"{at.resume} --model NAME" if _names_no_model(error) else at.resume
        line = f"{line.rstrip('.')}. Everything up to here is saved; go on with: {resume}"
    return line, code


def _text(error: BaseException, at: Circumstances) -> tuple[str, int]:
    if isinstance(error, Ended):
        return str(error), error.code
    if isinstance(error, KeyboardInterrupt | GraphDrained | OutputClosed):
        return _stopped(error)
    if isinstance(error, RequestLimitReached):
        return f"stopped after {counted(error.limit, 'request')}, as --max-requests says", TO_PUT_RIGHT
    if isinstance(error, GraphRecursionError):
        return (
            "stopped at the limit of steps for one run (recursion_limit); resuming grants as many again",
            TO_PUT_RIGHT,
        )
    if isinstance(error, LongthreadError):
        return str(error), TO_PUT_RIGHT
    if isinstance(error, sqlite3.Error):
        return f"the thread store failed: {error}; make room or free it, or choose another with --db", TO_PUT_RIGHT
    if (said := _of_the_model(error, at)) is not None:
        return said, TO_PUT_RIGHT
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}", TO_PUT_RIGHT
    name = type(error).__name__
    return f"unforeseen {name}: {error}; LONGTHREAD_DEBUG=1 shows where, please report it", UNFORESEEN


def _stopped(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt) and not isinstance(error, Terminated):
        return "interrupted", INTERRUPTED
    if isinstance(error, OutputClosed):
        return "", OUTPUT_CLOSED
    return "ended by SIGTERM", TERMINATED


def _of_the_model(error: BaseException, at: Circumstances) -> str | None:
    """What the model's server said, or that it said nothing; `None` for an error of another kind."""
    shape = next((shape for shape in _shapes(error) if shape.status), None)
    if shape is None:
        return _unreachable(error, at) if is_transient(error) else _misaddressed(error, at)
    said = one_line(str(error), 300)
    if shape.status in (401, 403):
        return f"the model's server{_where(at)} refused the key: {said}; {_other_key(at)}"
    if shape.status == 404:
        return f"the model's server{_where(at)} does not know {at.model!r}: {said}; check --model and --base-url"
    if is_transient(error):
        return f"the model's server{_where(at)} did not answer in several tries: {said}; try again later"
    return f"the model's server{_where(at)} refused the request: {said}"


def _other_key(at: Circumstances) -> str:
    provider, colon, _ = at.model.partition(":")
    if provider == "openai":
        return "set OPENAI_API_KEY to a valid one"
    return f"set a valid key for {provider!r}, as its package for LangChain wants it" if colon else "set a valid key"


def _names_no_model(error: BaseException) -> bool:
    """The server is there and does not know the model, which the thread would remember."""
    shape = next((shape for shape in _shapes(error) if shape.status), None)
    said = str(error).lower()
    unknown = any(words in said for words in ("not found", "not exist", "invalid model", "unknown model"))
    return shape is not None and (shape.status == 404 or (shape.status == 400 and "model" in said and unknown))


def _unreachable(error: BaseException, at: Circumstances) -> str:
    causes = [one_line(str(link), 120).rstrip(".") for link in links(error) if str(link).strip()]
    said = ": ".join(dict.fromkeys([causes[0], causes[-1]])) if causes else type(error).__name__
    return (
        f"the model's server{_where(at)} cannot be reached or broke off, in several tries: {said}; "
        "check the network, --base-url, and that the server runs"
    )


def _misaddressed(error: BaseException, at: Circumstances) -> str | None:
    """An address that no request can be sent to, or a certificate that does not hold."""
    classes = {name for shape in _shapes(error) for name in shape.classes}
    if not classes & {"APIConnectionError", "TransportError", "InvalidURL"}:
        return None
    return f"the model's server{_where(at)} cannot be used: {one_line(str([*links(error)][-1]), 300)}; check --base-url"


def _where(at: Circumstances) -> str:
    return f" at {at.server}" if at.server else ""


def _shapes(error: BaseException) -> Iterator[Shape]:
    return map(shape_of, links(error))


def debugging() -> bool:
    """Whether tracebacks are asked for."""
    return os.environ.get("LONGTHREAD_DEBUG", "") not in ("", "0")
