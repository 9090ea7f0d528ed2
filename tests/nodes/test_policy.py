"""When to compact: thresholds, growth since the last attempt, the breaker."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from compactions import small
from longthread.nodes.policy import CompactionPolicy
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.state import Occupancy
from longthread.tools.errors import ContextRefused

BOTH = small(compact_threshold=800, compact_request_threshold=900)
ANSWER = AIMessage("done")
CALLS = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])


def at(tokens: int) -> Occupancy:
    return {"tokens": tokens, "source": "estimated"}


def state(*, messages: Any = (), **compaction: Any) -> Any:
    return {"messages": list(messages), "compaction": compaction}


def before(config: CompactionConfig | None, tokens: int, *, messages: Any = (), **compaction: Any) -> Any:
    """What is pending before a request."""
    update = CompactionPolicy(config).before_request(state(messages=messages, **compaction), at(tokens))
    return update.get("compaction", {}).get("pending")


def after(config: CompactionConfig | None, tokens: int, answer: AIMessage = ANSWER, **compaction: Any) -> Any:
    """What is pending after an answer."""
    update = CompactionPolicy(config).after_answer(state(**compaction), answer, at(tokens))
    return update.get("compaction", {}).get("pending")


def test_each_threshold_is_exceeded_only_above_itself() -> None:
    assert before(BOTH, 900) is None
    assert before(BOTH, 901) == "compact_request_threshold"
    assert after(BOTH, 800) is None
    assert after(BOTH, 801) == "compact_threshold"


def test_each_works_without_the_other() -> None:
    proactive, net = small(compact_threshold=800), small(compact_request_threshold=900)
    assert (before(proactive, 5_000), after(proactive, 5_000)) == (None, "compact_threshold")
    assert (before(net, 5_000), after(net, 5_000)) == ("compact_request_threshold", None)
    assert (before(small(), 5_000), after(small(), 5_000)) == (None, None)
    assert (before(None, 5_000), after(None, 5_000)) == (None, None)


def test_the_proactive_check_waits_for_the_answer_of_the_turn() -> None:
    assert after(BOTH, 5_000, CALLS) is None


def test_moved_to_the_next_turn_it_runs_before_the_first_request_of_that_turn_only() -> None:
    config = small(compact_threshold=800, proactive="before_next_turn")
    assert after(config, 5_000) is None
    assert before(config, 801, messages=[ANSWER, HumanMessage("go on")]) == "compact_threshold"
    assert before(config, 801, messages=[HumanMessage("go on"), CALLS]) is None


@pytest.mark.parametrize("outcome", ["failed", "no_gain", "irreducible", "nothing"])
def test_after_an_attempt_that_did_not_commit_the_history_must_have_grown(outcome: str) -> None:
    assert before(BOTH, 949, outcome=outcome, occupancy=901) is None
    assert before(BOTH, 951, outcome=outcome, occupancy=901) == "compact_request_threshold"
    assert after(BOTH, 850, outcome=outcome, occupancy=801) is None
    assert after(BOTH, 851, outcome=outcome, occupancy=801) == "compact_threshold"


def test_growth_counts_from_the_lowest_point_since_for_pruning_makes_room_first() -> None:
    update = CompactionPolicy(BOTH).before_request(state(outcome="failed", occupancy=1_000), at(700))
    assert before(BOTH, 920, **update["compaction"]) == "compact_request_threshold"


def test_an_open_breaker_lets_one_attempt_through_every_twenty_requests() -> None:
    policy, status, attempts = CompactionPolicy(BOTH), {"open": True, "failures": 3, "requests_since": 0}, []
    for n in range(1, 61):
        update: Any = policy.before_request(state(**status), at(1_000 + 100 * n))["compaction"]
        if update["pending"]:
            attempts.append(n)
            update |= {"requests_since": 0, "occupancy": 1_000 + 100 * n}
        status = update
    assert attempts == [20, 40, 60]


def test_the_proactive_check_is_held_by_the_breaker_too() -> None:
    assert after(BOTH, 5_000, open=True, requests_since=19) is None
    assert after(BOTH, 5_000, open=True, requests_since=20) == "compact_threshold"


def test_a_refusal_asks_for_one_compaction_and_a_second_one_is_final() -> None:
    policy = CompactionPolicy(small())
    status = policy.after_refusal(state(), ValueError("too long"))["compaction"]
    assert (status["pending"], status["refusals"]) == ("context_refused", 1)
    with pytest.raises(ContextRefused, match="the provider refused the request as too long: too long"):
        policy.after_refusal(state(**status), ValueError("too long"))


def test_an_accepted_request_forgets_the_refusal() -> None:
    update = CompactionPolicy(small()).after_answer(state(refusals=1), ANSWER, at(1))
    assert update["compaction"]["refusals"] == 0


def test_without_compaction_a_refusal_is_final_and_a_wish_is_dropped() -> None:
    with pytest.raises(ContextRefused):
        CompactionPolicy(None).after_refusal(state(), ValueError("too long"))
    wish: Any = {"messages": [], "compact_request": ""}
    assert CompactionPolicy(None).before_request(wish, at(1)) == {"compact_request": None}
