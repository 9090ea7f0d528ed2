"""Three failed attempts in a row switch automatic compaction off, visibly, until one succeeds."""

from pathlib import Path
from typing import Any

from langchain_core.exceptions import ContextOverflowError
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, ask_sync, history, thread
from compactions import Graph, agent, events, looks, names, small, sources, values, words, worker
from longthread.graph import ScriptedChatModel, open_saver

Saver = BaseCheckpointSaver[Any]
NO = ValueError("no")
TURN = [*looks(1, 60), "done"]
CONFIG = small(compact_threshold=560, max_failures=3)


def broken(saver: Saver | None, by: ScriptedChatModel, turns: int = 60) -> Graph:
    """Every turn is larger than the growth that another attempt needs."""
    return agent(TURN * turns, CONFIG, by, checkpointer=saver)


def fail_three_times(graph: Graph) -> list[dict[str, Any]]:
    """Turns until the breaker is open, and the events of the failures."""
    failed: list[dict[str, Any]] = []
    while not values(graph).get("compaction", {}).get("open"):
        failed += [event for event in events(graph, "go on") if event["event"] == "compact_failed"]
        assert len(failed) <= 3
    return failed


def test_it_opens_at_the_third_failure_and_says_so(saver: Saver) -> None:
    failed = fail_three_times(broken(saver, worker(*[NO] * 99)))
    assert [(event["failures"], event["breaker_open"]) for event in failed] == [(1, False), (2, False), (3, True)]
    assert all(event["reason"] == "the worker's model failed: no" for event in failed)


def test_while_it_is_open_the_model_is_called_and_the_worker_is_not(ask: Ask, saver: Saver) -> None:
    graph = broken(saver, by := worker(*[NO] * 99))
    fail_three_times(graph)
    made = by.calls
    for n in range(5):
        assert ask(graph, f"turn {n}")["messages"][-1].content == "done"
    assert by.calls == made


def test_it_survives_a_restart(tmp_path: Path) -> None:
    for n in range(3):
        with open_saver(tmp_path / "threads.db") as saver:
            graph = broken(saver, by := worker(*[NO] * 99))
            if n == 0:
                fail_three_times(graph)
                continue
            assert names(events(graph, "go on")) == []
            assert (values(graph)["compaction"]["open"], by.calls) == (True, 0)


def test_a_compaction_that_the_user_asks_for_is_tried_and_closes_it(ask: Ask, saver: Saver) -> None:
    graph = broken(saver, worker(NO, NO, NO))
    fail_three_times(graph)
    ask(graph, {"compact_request": ""})
    status = values(graph)["compaction"]
    assert (status["outcome"], status["open"], status["failures"]) == ("committed", False, 0)
    assert sources(history(graph))[0] == "compaction_summary"


def test_one_that_the_user_asks_for_and_that_fails_leaves_it_open(saver: Saver) -> None:
    graph = broken(saver, worker(*[NO] * 99))
    fail_three_times(graph)
    assert names(events(graph, {"compact_request": ""})) == ["compact_start", "compact_failed"]
    assert values(graph)["compaction"]["open"]


def attempts(graph: Graph, turns: int) -> list[int]:
    """The turns in which the worker was asked, from 0; every turn makes two requests."""
    return [n for n in range(turns) if "compact_start" in names(events(graph, "go on"))]


def test_every_twenty_requests_one_automatic_attempt_is_let_through(saver: Saver) -> None:
    graph = broken(saver, worker(*[NO] * 99))
    fail_three_times(graph)
    assert attempts(graph, 35) == [9, 19, 29]
    assert values(graph)["compaction"]["open"]


def test_so_an_unattended_thread_recovers(saver: Saver) -> None:
    graph = broken(saver, worker(NO, NO, NO))
    fail_three_times(graph)
    assert attempts(graph, 10) == [9]
    status = values(graph)["compaction"]
    assert (status["open"], status["failures"], status["outcome"]) == (False, 0, "committed")


def test_a_success_in_between_begins_the_count_again(saver: Saver) -> None:
    by = worker(NO, NO, worker().script([]), NO, NO)
    graph = broken(saver, by)
    outcomes = [e["event"] for _ in range(25) for e in events(graph, "go on") if e["event"] != "compact_start"]
    assert outcomes[:5] == ["compact_failed"] * 2 + ["compact_done"] + ["compact_failed"] * 2
    assert not values(graph)["compaction"]["open"]


def test_outcomes_that_are_no_failure_never_open_it(saver: Saver) -> None:
    graph = agent(TURN * 20, CONFIG, worker(), checkpointer=saver, system_prompt=words(500))
    skipped = [e for _ in range(10) for e in events(graph, "go on") if e["event"] == "compact_skipped"]
    assert len(skipped) > 3
    assert not values(graph)["compaction"].get("open", False)


def test_after_a_refusal_an_open_breaker_costs_no_worker_and_no_second_failure(saver: Saver) -> None:
    graph = broken(saver, by := worker(*[NO] * 99))
    fail_three_times(graph)
    before, made = values(graph)["compaction"], by.calls
    refused = agent([ContextOverflowError("too long"), "done"], small(max_failures=3), by, checkpointer=saver)
    [done] = [event for event in events(refused, "go on") if event["event"] == "compact_done"]
    assert "the breaker is open" in done["reason"]
    after = values(graph)["compaction"]
    assert by.calls == made
    assert after["failures"] == before["failures"] == 3
    assert after["open"]
    assert after["requests_since"] >= before["requests_since"]


def test_a_summary_without_a_model_counts_as_a_failure_and_opens_it(saver: Saver) -> None:
    by = worker(script=lambda _: "I will not.")
    graph = agent([*looks(40, 100), "done"], small(compact_request_threshold=800), by, checkpointer=saver)
    ask_sync(graph, "go", {**thread(), "recursion_limit": 300})
    assert values(graph)["compaction"]["failures"] >= 3
    assert values(graph)["compaction"]["open"]
    assert len(values(graph)["segments"]) >= 3
