"""LangSmith traces of a command that ends: sent within a few seconds or given up, and one line about it.

Left alone, the client keeps a process alive for minutes when its server does not answer, and writes
many lines over what is shown.
"""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from longthread.tools.text import one_line

SECONDS = 5.0
"""How long the end of a command waits for its traces."""
_ON = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")


class _FirstOnly(logging.Handler):
    """The first complaint on one line; the rest say the same."""

    def emit(self, record: logging.LogRecord) -> None:
        if self.level < logging.CRITICAL:
            self.setLevel(logging.CRITICAL)
            print(f"longthread: warning: not traced: {one_line(record.getMessage(), 160)}", file=sys.stderr)


@contextmanager
def traces_sent(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Around a command; nothing is done or loaded where tracing is off."""
    if not any(environment.get(name, "").lower() == "true" for name in _ON):
        yield
        return
    os.environ.setdefault("LANGSMITH_USE_DAEMON", "true")  # or the interpreter waits for the client's threads
    complaints, handler = logging.getLogger("langsmith"), _FirstOnly(logging.WARNING)
    complaints.addHandler(handler)
    complaints.propagate = False
    try:
        yield
    finally:
        _flush()
        complaints.removeHandler(handler)
        complaints.propagate = True


def _flush() -> None:
    from langsmith.run_trees import get_cached_client

    get_cached_client().flush(timeout=SECONDS)
