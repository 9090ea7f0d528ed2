"""Before a request: measure, prune if it pays, and decide whether to compact first."""

from typing import Any

from langchain_core.runnables import RunnableConfig

from longthread.nodes.events import emit
from longthread.nodes.history.prune import plan_step
from longthread.nodes.history.speakers import last_user_message
from longthread.nodes.policy import CompactionPolicy
from longthread.nodes.requests import Requests
from longthread.nodes.state import AgentState, NodeWithConfig, Occupancy
from longthread.tools.errors import RequestLimitReached
from longthread.tools.tracker import forget_calls


def make_pre_request_check(requests: Requests, policy: CompactionPolicy, max_requests: int | None) -> NodeWithConfig:
    """The node for these settings."""

    def pre_request_check(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        update = begin_run(state, config, max_requests)
        occupancy = requests.occupancy(state)
        pruned, occupancy = _prune(state, requests, policy, occupancy)
        update |= pruned | {"occupancy": occupancy}
        return update | policy.before_request(state, occupancy)

    return pre_request_check


def begin_run(state: AgentState, config: RunnableConfig, max_requests: int | None) -> dict[str, Any]:
    """Count requests from 0 in each invocation, and stop where the limit is reached.

    The last step that an invocation may take tells one invocation from the next.
    """
    counters = state.get("reminder") or {}
    run = config["metadata"]["langgraph_step"] + state["remaining_steps"]
    if counters.get("run") != run:
        user = last_user_message(state["messages"])
        return {"reminder": {"turn": user.id if user else None, **counters, "requests": 0, "run": run}}
    if max_requests is not None and counters["requests"] >= max_requests:
        raise RequestLimitReached(max_requests)
    return {}


def _prune(
    state: AgentState, requests: Requests, policy: CompactionPolicy, occupancy: Occupancy
) -> tuple[dict[str, Any], Occupancy]:
    through = state.get("pruned_through")
    step = policy.config and plan_step(
        state["messages"],
        requests.meter.weights(state["messages"], through),
        through,
        protected=policy.config.prune_protected_tokens,
        min_savings=policy.config.prune_min_savings,
        keep=requests.never_pruned,
        shown_weight=requests.meter.shown_weight(state["messages"]),
    )
    if not step:
        return {}, occupancy
    after = requests.meter.occupancy(state["messages"], step.through)
    emit("pruned", results=len(step.calls), tokens_before=occupancy["tokens"], tokens_after=after["tokens"])
    forgotten = forget_calls(state.get("tracker") or [], step.calls)
    return {"pruned_through": step.through} | ({"tracker": forgotten} if forgotten else {}), after
