"""Before a request: measure, prune if it pays, and decide whether to compact first."""

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import DEFAULT_RECURSION_LIMIT  # a node's config names the limit only if it differs

from longthread.nodes.events import emit
from longthread.nodes.history.speakers import is_own, last_user_message
from longthread.nodes.policy import CompactionPolicy
from longthread.nodes.requests import Requests
from longthread.nodes.state import AgentState, NodeWithConfig, Occupancy, ReminderState
from longthread.tools.errors import RequestLimitReached
from longthread.tools.tracker import forget_calls


def make_pre_request_check(requests: Requests, policy: CompactionPolicy, max_requests: int | None) -> NodeWithConfig:
    """The node for these settings."""

    def pre_request_check(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        update = begin_run(state, config, max_requests, requests.name)
        occupancy = requests.occupancy(state)
        pruned, occupancy = _prune(state, requests, policy, occupancy)
        update |= pruned | {"occupancy": occupancy}
        return update | policy.before_request(state, occupancy)

    return pre_request_check


def begin_run(
    state: AgentState, config: RunnableConfig, max_requests: int | None, agent: str | None = None
) -> dict[str, Any]:
    """Count on over the invocations of a turn, and stop where the limit is reached.

    The last step that an invocation may take tells one invocation from the next. One that begins here goes on
    with a run that had stopped here: a run at its limit may then send as many again.
    """
    counters: ReminderState = state.get("reminder") or {}
    run = config["metadata"]["langgraph_step"] + state["remaining_steps"]
    goes_on = counters.get("run") == run
    sent = counters.get("earlier", 0) + counters.get("requests", 0)
    if not goes_on and _has_ended(state, agent):
        sent = 0
    if max_requests is not None and sent >= max_requests:
        if not _is_first_step(state, config):
            raise RequestLimitReached(max_requests)
        sent = 0
    return {} if goes_on else {"reminder": _new_invocation(state, counters, run, sent)}


def _new_invocation(state: AgentState, counters: ReminderState, run: int, earlier: int) -> dict[str, Any]:
    user = last_user_message(state["messages"])
    return {"turn": user.id if user else None, **counters, "requests": 0, "earlier": earlier, "run": run}


def _has_ended(state: AgentState, agent: str | None) -> bool:
    """The agent's newest answer was a final one, as where a parent graph calls it again within a turn."""
    newest = next((m for m in reversed(state["messages"]) if is_own(m, agent)), None)
    return isinstance(newest, AIMessage) and not newest.tool_calls


def _is_first_step(state: AgentState, config: RunnableConfig) -> bool:
    """LangGraph grants one step more than the recursion limit, so none was taken in this invocation."""
    return state["remaining_steps"] > config.get("recursion_limit", DEFAULT_RECURSION_LIMIT)


def _prune(
    state: AgentState, requests: Requests, policy: CompactionPolicy, occupancy: Occupancy
) -> tuple[dict[str, Any], Occupancy]:
    step = policy.config and requests.prune_step(state, policy.config)
    if not step:
        return {}, occupancy
    after = requests.meter.occupancy(state["messages"], step.through)
    emit("pruned", results=len(step.calls), tokens_before=occupancy["tokens"], tokens_after=after["tokens"])
    forgotten = forget_calls(state.get("tracker") or [], step.calls)
    return {"pruned_through": step.through} | ({"tracker": forgotten} if forgotten else {}), after
