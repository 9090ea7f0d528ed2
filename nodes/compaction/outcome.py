"""What an attempt leaves in the state: the outcome, the failures, the breaker."""

from typing import Any

from longthread.nodes.events import emit
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.state import AgentState, CompactionState, Outcome, Trigger


def trigger_of(state: AgentState) -> Trigger:
    """What this attempt was asked by; the user's wish comes first."""
    if state.get("compact_request") is not None:
        return "user"
    pending = (state.get("compaction") or {}).get("pending")
    assert pending is not None, "the edge to compact is taken with a trigger only"
    return pending


def skipped(state: AgentState, trigger: Trigger, outcome: Outcome, tokens: int, reason: str) -> dict[str, Any]:
    """The update after an attempt that could not help; the history is as before and no failure is counted."""
    emit("compact_skipped", trigger=trigger, outcome=outcome, tokens_before=tokens, reason=reason)
    return _update(state, trigger, outcome, tokens, reason)


def failed(
    state: AgentState, trigger: Trigger, tokens: int, reason: str, config: CompactionConfig, seconds: float
) -> dict[str, Any]:
    """The update after a failed attempt: counted, and the breaker opened at the limit."""
    failures = (state.get("compaction") or {}).get("failures", 0) + 1
    opened = failures >= config.max_failures
    counted = {"failures": failures, "breaker_open": opened}
    emit("compact_failed", trigger=trigger, tokens_before=tokens, reason=reason, seconds=seconds, **counted)
    update = _update(state, trigger, "failed", tokens, reason)
    update["compaction"] |= {"failures": failures, "open": opened, "requests_since": 0}
    return update


def _update(state: AgentState, trigger: Trigger, outcome: Outcome, tokens: int, reason: str) -> dict[str, Any]:
    status: CompactionState = {
        **(state.get("compaction") or {}),
        "pending": None,
        "trigger": trigger,
        "outcome": outcome,
        "occupancy": tokens,
        "reason": reason,
    }
    return {"compaction": status, "compact_request": None}


def committed(
    state: AgentState, trigger: Trigger, stand_in: str | None, config: CompactionConfig, *, counts: bool
) -> CompactionState:
    """The status after a commit: the breaker closes, unless a summary without a model stood in.

    That is a failure of the worker, and it `counts` where the worker was called.
    """
    before = state.get("compaction") or {}
    failures = before.get("failures", 0) + counts if stand_in else 0
    return {
        "pending": None,
        "trigger": trigger,
        "outcome": "committed",
        "failures": failures,
        "open": failures >= config.max_failures,
        "reason": stand_in or "",
        "requests_since": 0 if counts else before.get("requests_since", 0),
        "refusals": before.get("refusals", 0),
    }
