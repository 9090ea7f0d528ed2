"""The worker's calls of one message, in call order, over its desk."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

from longthread.nodes.answers import MALFORMED, is_cut_off
from longthread.nodes.state import Node
from longthread.nodes.worker.state import WorkerState, last_answer
from longthread.tools.worker import Desk, WorkerTools

CUT_OFF = "Error: the message was cut off by the output limit, so nothing was saved. Write a shorter summary."
BROKEN = "Error: the arguments were not valid JSON, so nothing was done. Send the call again, complete and shorter."


def make_run_worker_tools(tools: Callable[[WorkerState], WorkerTools]) -> Node:
    """The node; `tools` makes the tools for the state at hand."""

    def run_worker_tools(state: WorkerState) -> dict[str, Any]:
        answer = last_answer(state["log"])
        assert answer is not None
        desk, results = state["desk"][0], list[ToolMessage]()
        kit = tools(state)
        for call in answer.tool_calls:
            result, desk = _run(kit, answer, dict(call), desk)
            results.append(result.model_copy(update={"id": f"{answer.id}:{call['id']}"}))
        return {"log": [results], "desk": [desk]}

    return run_worker_tools


def _run(kit: WorkerTools, answer: AIMessage, call: dict[str, Any], desk: Desk) -> tuple[ToolMessage, Desk]:
    text = BROKEN if MALFORMED in call["args"] else ""
    if call["name"] == "write_summary" and is_cut_off(answer):
        text = CUT_OFF
    if text:
        return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error"), desk
    return kit.run(call, desk)
