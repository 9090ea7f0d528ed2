"""One request of the worker, within its bound, out of every stream of the user's."""

import asyncio
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._runnable import RunnableCallable  # sync and async in one node
from langgraph.constants import TAG_NOSTREAM

from longthread.nodes.answers import complete, normalised
from longthread.nodes.call_model import Model
from longthread.nodes.refusals import is_context_overflow
from longthread.nodes.worker.fit import FINISH, Fitted, Fitter
from longthread.nodes.worker.state import Meter, Status, WorkerState, conversation, last_answer
from longthread.tools.tokens import count_message

QUIET: RunnableConfig = {"tags": [TAG_NOSTREAM]}
MAX_SHRINKS = 2


def make_call_worker(model: Model, fitter: Fitter) -> RunnableCallable:
    """The node, sync and async."""

    def call_worker(state: WorkerState) -> dict[str, Any]:
        if (fitted := _next(state, fitter)) is None:
            return _ended(state, "bound")
        try:
            answer = complete(model.invoke(_with_notice(state, fitted), QUIET))
        except Exception as error:
            return _too_long(state, error)
        return _answered(state, fitted, answer)

    async def acall_worker(state: WorkerState) -> dict[str, Any]:
        if (fitted := await asyncio.to_thread(_next, state, fitter)) is None:
            return _ended(state, "bound")
        try:
            answer = complete(await model.ainvoke(_with_notice(state, fitted), QUIET))
        except Exception as error:
            return _too_long(state, error)
        return _answered(state, fitted, answer)

    return RunnableCallable(call_worker, acall_worker, name="call_worker", trace=False)


def _next(state: WorkerState, fitter: Fitter) -> Fitted | None:
    if state["meter"]["requests"] >= fitter.config.worker_max_requests:
        return None
    return fitter.fit(state)


def _ended(state: WorkerState, reason: str) -> dict[str, Any]:
    return {"status": {**state["status"], "ended": reason}}


def _too_long(state: WorkerState, error: Exception) -> dict[str, Any]:
    """The worker's own window is smaller than its request: the overview is halved, twice."""
    if not is_context_overflow(error):
        raise error
    shrinks = state["status"]["shrinks"] + 1
    if shrinks > MAX_SHRINKS:
        return _ended(state, "context")
    return {"status": {**state["status"], "shrinks": shrinks}}


def _notice(state: WorkerState, fitted: Fitted) -> list[AnyMessage]:
    if not fitted.last or not state["log"] or "finish" in state["status"]["asked_for"]:
        return []
    return [HumanMessage(FINISH, id=f"finish-{len(state['log'])}")]


def _with_notice(state: WorkerState, fitted: Fitted) -> list[AnyMessage]:
    return [*fitted.messages, *_notice(state, fitted)]


def _answered(state: WorkerState, fitted: Fitted, answer: AIMessage) -> dict[str, Any]:
    notice = _notice(state, fitted)
    known = [*conversation(state["log"]), *notice]
    message = normalised(answer, known, None, "worker")
    status = _watched(state, message)
    if notice:
        status["asked_for"] = [*status["asked_for"], "finish"]
    return {"log": [[*notice, message]], "meter": _metered(state["meter"], fitted, answer), "status": status}


def _watched(state: WorkerState, answer: AIMessage) -> Status:
    """The status with an answer that only repeats the one before counted."""
    before = last_answer(state["log"])
    same = before is not None and _said(before) == _said(answer)
    return {**state["status"], "repeats": state["status"]["repeats"] + 1 if same else 0}


def _said(answer: AIMessage) -> tuple[Any, ...]:
    return answer.content, [(call["name"], call["args"]) for call in answer.tool_calls]


def _metered(meter: Meter, fitted: Fitted, answer: AIMessage) -> Meter:
    usage = answer.usage_metadata
    sent = usage["input_tokens"] if usage and usage["input_tokens"] else fitted.tokens
    return {
        "input": meter["input"] + sent,
        "output": meter["output"] + (usage["output_tokens"] if usage else count_message(answer)),
        "requests": meter["requests"] + 1,
        "scale": min(4.0, max(0.25, meter["scale"] * sent / max(1, fitted.tokens))),
    }
