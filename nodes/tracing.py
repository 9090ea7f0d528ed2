"""What a LangSmith trace shows of a run: every step, and every text once.

Without this, each step would carry the whole history again, and a trace would grow with the square
of the run. Nothing here costs anything while no trace is made.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tracers.langchain import LangChainTracer
from langchain_core.tracers.schemas import Run
from langgraph._internal._runnable import RunnableCallable  # the one way to an edge that makes no run of its own
from langgraph.types import TracePolicy
from langsmith.run_helpers import get_current_run_tree

from longthread.tools.text import one_line

SHORT = 20
"""Keys of a dict that are shown."""
LINE = 200
"""Characters of a text that are shown."""


def in_short(value: Any) -> dict[str, Any]:
    """Numbers and short texts as they are; of lists the length, of large values the size."""
    shown = value if isinstance(value, Mapping) else {"value": value}
    return {str(key): _brief(item) for key, item in shown.items()}


def _brief(value: Any) -> Any:
    if isinstance(value, list | tuple) or (isinstance(value, Mapping) and len(value) > SHORT):
        return f"{len(value)} items"
    if isinstance(value, Mapping):
        return in_short(value)
    if isinstance(value, str):
        return one_line(value, LINE)
    return value if isinstance(value, int | float | None) else type(value).__name__


LEAN = TracePolicy(process_inputs=in_short, process_outputs=in_short)


def untraced(route: Callable[[Any], Any]) -> RunnableCallable:
    """An edge that makes no run: its input would be the whole state, and the next node says where it led."""
    return RunnableCallable(route, trace=False)


def annotate(**metadata: Any) -> None:
    """Metadata for the run of the step at hand, where one is traced; only plain values."""
    if run := get_current_run_tree():
        run.add_metadata({key: value for key, value in metadata.items() if isinstance(value, str | int | float)})


class NewestOnly(LangChainTracer):
    """Records of a request the newest answer and what came after it; the rest is in the run before."""

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **rest: Any) -> Run:
        """As the base, with less of the messages."""
        return super().on_chat_model_start(serialized, [_newest(batch) for batch in messages], **rest)


def _newest(request: Sequence[BaseMessage]) -> list[BaseMessage]:
    start = max((n for n, message in enumerate(request) if isinstance(message, AIMessage)), default=0)
    return [SystemMessage(f"[The first {start} messages are those of the request before.]"), *request[start:]]


def showing_newest() -> RunnableConfig:
    """The config for a request that repeats the one before it."""
    manager = ensure_config().get("callbacks")
    if not isinstance(manager, BaseCallbackManager):
        return {}
    lean = copy(manager)
    lean.handlers = [_trimmed(handler) for handler in manager.handlers]
    lean.inheritable_handlers = [_trimmed(handler) for handler in manager.inheritable_handlers]
    return {"callbacks": lean}


def _trimmed(handler: BaseCallbackHandler) -> BaseCallbackHandler:
    """The same tracer, going on with the same runs; a class of the user's own is left alone."""
    if type(handler) is not LangChainTracer:
        return handler
    lean = NewestOnly.__new__(NewestOnly)  # a tracer's copy() is itself
    vars(lean).update(vars(handler))
    return lean
