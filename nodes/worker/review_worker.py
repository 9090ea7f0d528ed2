"""What the worker left undone when it stopped: asked for once, then taken as it is."""

from collections.abc import Callable
from typing import Any, Literal

from langchain_core.messages import HumanMessage

from longthread.nodes.answers import is_cut_off
from longthread.nodes.history.summary import judge
from longthread.nodes.state import Node
from longthread.nodes.worker.state import Status, WorkerState, last_answer
from longthread.nodes.worker.summaries import HEADINGS
from longthread.tools.results import text_of
from longthread.tools.worker import Desk

NUDGES = {
    "summary": f"There is no valid summary yet. Call write_summary now, with the headings {HEADINGS}.",
    "marks": (
        "No file is marked, although files were touched. Mark those that are needed for going on with "
        "mark_read_required; if none is needed, answer without a call."
    ),
}


def make_review_worker(limit: Callable[[WorkerState], int]) -> Node:
    """The node; `limit` is the summary's upper limit in local tokens."""

    def review_worker(state: WorkerState) -> dict[str, Any]:
        desk = _with_plain_text(state, limit(state))
        undone = _undone(state, desk)
        unasked = [need for need in undone if need not in state["status"]["asked_for"]]
        changed = {"desk": [desk]} if desk is not state["desk"][0] else {}
        if not unasked:
            return {**changed, "status": {**state["status"], "ended": "undone" if "summary" in undone else "done"}}
        nudge = HumanMessage("\n".join(NUDGES[need] for need in unasked), id=f"nudge-{len(state['log'])}")
        asked: Status = {**state["status"], "asked_for": [*state["status"]["asked_for"], *unasked]}
        return {**changed, "log": [[nudge]], "status": asked}

    return review_worker


def _undone(state: WorkerState, desk: Desk) -> list[str]:
    needs_marks = state["brief"][0]["files"] and not desk["marks"]
    return [*([] if desk["summary"] or desk["draft"] else ["summary"]), *(["marks"] if needs_marks else [])]


def _with_plain_text(state: WorkerState, limit: int) -> Desk:
    """Weak models answer in plain text: after the nudge a text with the five sections is taken."""
    desk, answer = state["desk"][0], last_answer(state["log"])
    if desk["summary"] or answer is None or answer.tool_calls or "summary" not in state["status"]["asked_for"]:
        return desk
    text = text_of(answer)
    verdict = judge(text, limit)
    complete = not (verdict.blank or verdict.missing or is_cut_off(answer))
    return {**desk, "draft": text} if complete else desk


def _repeats(status: Status) -> bool:
    """The worker goes round in a circle: after a request of ours at once, else at the third same answer."""
    return status["repeats"] >= (1 if status["asked_for"] else 2)


def route_after_call(state: WorkerState) -> Literal["run_worker_tools", "call_worker", "review_worker", "__end__"]:
    """To the tools, to a smaller request, to the review of an answer without calls, or the end."""
    if state["status"]["ended"]:
        return "__end__"
    answer = last_answer(state["log"])
    if answer is None or not _is_newest(state):
        return "call_worker"
    return "run_worker_tools" if answer.tool_calls else "review_worker"


def _is_newest(state: WorkerState) -> bool:
    """The log ends with an answer; it does not after a request that the worker's model refused."""
    return bool(state["log"]) and state["log"][-1][-1] is last_answer(state["log"])


def route_after_tools(state: WorkerState) -> Literal["review_worker", "call_worker"]:
    """To the review after a valid summary in a message that reads nothing more, and where the worker repeats itself."""
    answer = last_answer(state["log"])
    names = {call["name"] for call in answer.tool_calls} if answer else set()
    wrote = "write_summary" in names and bool(state["desk"][0]["summary"])
    done = wrote and "read_file" not in names
    return "review_worker" if done or _repeats(state["status"]) else "call_worker"


def route_after_review(state: WorkerState) -> Literal["call_worker", "__end__"]:
    """On, if something was asked for."""
    return "__end__" if state["status"]["ended"] else "call_worker"
