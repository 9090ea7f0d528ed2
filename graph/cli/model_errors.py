"""Tells of requests that failed, also of those that the graph repeats by itself."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.constants import TAG_NOSTREAM

from longthread.graph.cli.events import Event
from longthread.nodes.refusals import is_context_overflow, is_transient
from longthread.tools.text import one_line


class ModelErrors(BaseCallbackHandler):
    """Shows an event for every request that a model did not answer, the worker's among them."""

    run_inline = True
    raise_error = True

    def __init__(self, show: Callable[[Event], None]) -> None:
        self._show = show

    def on_llm_error(self, error: BaseException, *, tags: Sequence[str] | None = None, **_: Any) -> None:
        """Show the error; a cancellation is none."""
        if isinstance(error, Exception):
            text = one_line(str(error) or type(error).__name__, 300)
            worker = TAG_NOSTREAM in (tags or ())
            self._show({"event": "model_error", "text": text, "kind": _kind(error), "worker": worker})


def _kind(error: Exception) -> str:
    if is_context_overflow(error):
        return "context"
    return "transient" if is_transient(error) else "final"
