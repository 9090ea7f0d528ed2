"""When to compact: thresholds, growth since the last attempt, the breaker. Pure over the state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from longthread.nodes.history.speakers import awaits_first_answer
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.state import AgentState, CompactionState, Occupancy, Trigger
from longthread.tools.errors import ContextRefused

RETRY_EVERY = 20
"""Requests after which an open breaker lets one automatic attempt through."""


@dataclass(frozen=True)
class CompactionPolicy:
    """The decisions of the two edges that lead to `compact`, and of the provider's refusal.

    `config=None` is a graph without compaction: nothing is ever pending.
    """

    config: CompactionConfig | None
    agent: str | None = None
    """The agent's name; a turn ends with an answer of its own."""

    def before_request(self, state: AgentState, occupancy: Occupancy) -> dict[str, Any]:
        """What is pending before a request: the safety net, or the proactive check moved here."""
        if self.config is None:
            return {"compact_request": None} if state.get("compact_request") is not None else {}
        status = self._counted(state, occupancy)
        trigger: Trigger | None = None
        if self._exceeds(status, occupancy, self.config.compact_request_threshold):
            trigger = "compact_request_threshold"
        elif self._is_new_turn(state) and self._exceeds(status, occupancy, self.config.compact_threshold):
            trigger = "compact_threshold"
        return {"compaction": {**status, "pending": trigger}}

    def after_answer(self, state: AgentState, answer: AIMessage, occupancy: Occupancy) -> dict[str, Any]:
        """What is pending after an accepted request: the proactive check, once the turn is done."""
        if self.config is None:
            return {}
        status: CompactionState = {**_status(state), "refusals": 0, "pending": None}
        is_due = self.config.proactive == "after_answer" and not answer.tool_calls
        if is_due and self._exceeds(status, occupancy, self.config.compact_threshold):
            status["pending"] = "compact_threshold"
        return {"compaction": status}

    def after_refusal(self, state: AgentState, error: Exception) -> dict[str, Any]:
        """One compaction for a request that the provider found too long; a second refusal is final.

        Raises:
            ContextRefused: there is no compaction, or one was already made for this request.
        """
        status = _status(state)
        if self.config is None or status.get("refusals"):
            raise ContextRefused(f"the provider refused the request as too long: {error}") from error
        return {"compaction": {**status, "refusals": 1, "pending": "context_refused"}}

    def _counted(self, state: AgentState, occupancy: Occupancy) -> CompactionState:
        """The status with one more request counted while the breaker is open.

        Growth since the last attempt counts from the lowest point since: pruning makes room first.
        """
        status = _status(state)
        if "occupancy" in status:
            status["occupancy"] = min(status["occupancy"], occupancy["tokens"])
        if status.get("open"):
            status["requests_since"] = status.get("requests_since", 0) + 1
        return status

    def _exceeds(self, status: Mapping[str, Any], occupancy: Occupancy, threshold: int | None) -> bool:
        if threshold is None or occupancy["tokens"] <= threshold:
            return False
        if status.get("open") and status.get("requests_since", 0) < RETRY_EVERY:
            return False
        return self._has_grown(status, occupancy)

    def _has_grown(self, status: Mapping[str, Any], occupancy: Occupancy) -> bool:
        """The history has grown since the last attempt that did not commit, so that another can differ."""
        assert self.config is not None
        before = status.get("occupancy")
        return before is None or occupancy["tokens"] >= before + self.config.prune_min_savings

    def _is_new_turn(self, state: AgentState) -> bool:
        if self.config is None or self.config.proactive != "before_next_turn":
            return False
        return awaits_first_answer(state["messages"], self.agent)


def _status(state: AgentState) -> CompactionState:
    return {**(state.get("compaction") or {})}
