"""One compaction from its opening to its commit, around the worker that the node calls."""

import time
from dataclasses import dataclass
from typing import Any

from longthread.nodes.compaction.attempt import Hopeless, Opener, between
from longthread.nodes.compaction.commit import Committer, Origin
from longthread.nodes.compaction.outcome import committed, failed, skipped, trigger_of
from longthread.nodes.events import emit
from longthread.nodes.history.fallback import summary_without_model
from longthread.nodes.history.rebuild import carried_text, last_summary
from longthread.nodes.history.repair import repair
from longthread.nodes.policy import RETRY_EVERY
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.state import AgentState, Trigger
from longthread.nodes.worker.state import Meter, Plan
from longthread.nodes.worker.summaries import final_summary
from longthread.tools.text import one_line
from longthread.tools.worker import Desk

__all__ = ["Compactor", "Opened", "Origin"]

NOTHING_SPENT: Meter = {"input": 0, "output": 0, "requests": 0, "scale": 1.0}
REASONS = {
    "bound": "the worker used up compact_worker_max_input_tokens or worker_max_requests without a valid summary",
    "context": "the worker's own context window is too small for its request",
    "undone": "the worker ended without a valid summary",
    "alone": "nothing stands before the newest message, which is too long and was cut",
    "breaker": "the breaker is open, so the worker was not called",
}


@dataclass(frozen=True)
class Opened:
    """An attempt that is under way."""

    input: dict[str, Any]
    """What the worker begins with."""
    calls_worker: bool
    began: float

    @property
    def seconds(self) -> float:
        """How long it took until now."""
        return round(time.monotonic() - self.began, 3)


@dataclass(frozen=True)
class Compactor:
    """Opens and closes the compactions of one agent."""

    opener: Opener
    committer: Committer

    @property
    def config(self) -> CompactionConfig:
        """The agent's settings."""
        return self.opener.config

    def open(self, state: AgentState) -> Opened | dict[str, Any]:
        """An attempt, or the update that says why there is none."""
        trigger, began = trigger_of(state), time.monotonic()
        plan = self.opener.open(state, trigger)
        if isinstance(plan, Hopeless):
            tokens = self.opener.requests.occupancy(state)["tokens"]
            return skipped(state, trigger, plan.outcome, tokens, plan.reason)
        emit("compact_start", trigger=trigger, tokens_before=plan["tokens_before"], messages=plan["summarised"])
        wish = state.get("compact_request")
        given = self.opener.worker_input(state, plan, wish if isinstance(wish, str) else "")
        calls = bool(plan["summarised"]) and not _breaker_forbids(state, trigger)
        return Opened(given, calls_worker=calls, began=began)

    def close(self, state: AgentState, opened: Opened, result: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """The commit of what the worker brought, or of what stands in for it, or the failure."""
        plan: Plan = result.get("plan") or opened.input["plan"]
        desk: Desk = (result.get("desk") or opened.input["desk"])[0]
        summary, reason = self._summary(desk, plan), _reason(result, opened)
        if not summary and not _stands_in(plan["trigger"], reason, result):
            return failed(state, plan["trigger"], plan["tokens_before"], reason, self.config, opened.seconds)
        stand_in = None if summary else reason
        summary = summary or self._without_model(state, plan)
        update = self.committer.commit(state, plan, summary, desk, result.get("meter") or NOTHING_SPENT, origin)
        if update is None:
            return self._no_gain(state, plan, stand_in, opened)
        update["compaction"] = committed(state, plan["trigger"], stand_in, self.config, counts=opened.calls_worker)
        _announce(update, plan, opened, stand_in)
        return update

    def _summary(self, desk: Desk, plan: Plan) -> str:
        return final_summary(desk, self.summary_limit(plan))

    def summary_limit(self, plan: Plan) -> int:
        """`summary_max_tokens` in local tokens."""
        return round(self.config.summary_max_tokens / plan["scale"])

    def _without_model(self, state: AgentState, plan: Plan) -> str:
        summarised = between(repair(state["messages"]), plan)
        previous = carried_text(last_summary(summarised))
        return summary_without_model(previous, summarised, self.summary_limit(plan))

    def _no_gain(self, state: AgentState, plan: Plan, stand_in: str | None, opened: Opened) -> dict[str, Any]:
        if stand_in and opened.calls_worker:
            return failed(state, plan["trigger"], plan["tokens_before"], stand_in, self.config, opened.seconds)
        reason = "the new history would not be smaller, or not below the threshold that asked for it"
        return skipped(state, plan["trigger"], "no_gain", plan["tokens_before"], reason)


def _breaker_forbids(state: AgentState, trigger: Trigger) -> bool:
    status = state.get("compaction") or {}
    waiting = status.get("open", False) and status.get("requests_since", 0) < RETRY_EVERY
    return trigger == "context_refused" and waiting


def _reason(result: dict[str, Any], opened: Opened) -> str:
    if "error" in result:
        error = result["error"]
        return f"the worker's model failed: {one_line(str(error) or type(error).__name__, 300)}"
    ended = result["status"]["ended"] if "status" in result else _uncalled(opened)
    return REASONS.get(ended or "undone", REASONS["undone"])


def _uncalled(opened: Opened) -> str | None:
    if opened.calls_worker:
        return None
    return "breaker" if opened.input["plan"]["summarised"] else "alone"


def _stands_in(trigger: Trigger, reason: str, result: dict[str, Any]) -> bool:
    """A summary without a model keeps the thread alive: after a refusal, or where a reachable worker wrote none."""
    if trigger == "context_refused":
        return True
    reachable = "error" not in result and reason != REASONS["context"]
    return trigger == "compact_request_threshold" and reachable


def _announce(update: dict[str, Any], plan: Plan, opened: Opened, stand_in: str | None) -> None:
    segment = update["segments"].value[-1]
    emit(
        "compact_done",
        trigger=plan["trigger"],
        tokens_before=plan["tokens_before"],
        tokens_after=segment["tokens_after"],
        files=segment["files"],
        references=segment["references"],
        summarised=segment["summarised"],
        kept=segment["kept"],
        seconds=opened.seconds,
        reason=stand_in,
    )
