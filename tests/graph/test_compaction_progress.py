"""A compaction helps, or it says why it does not and is not tried in a circle."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, history, thread
from compactions import agent, events, files, looks, names, small, sources, summary, values, words, worker, writes
from longthread.graph import ScriptedChatModel
from longthread.graph.scripted import call, say, scripted_tokens
from longthread.tools.tokens import count_message
from provider_errors import said

Saver = BaseCheckpointSaver[Any]
LIMITED = said("Rate limit reached for gpt-x: too many tokens per min (TPM).", 429, code="rate_limit_exceeded")
LONG = summary(words(20))
"""As long as a summary may be at the small scale."""


def unchanged(graph: Any, before: dict[str, Any]) -> bool:
    """Every channel but the outcome is as it was."""
    return all(values(graph)[key] == before[key] for key in ("messages", "todos", "tracker", "segments"))


# What cannot shrink


def test_a_prompt_that_alone_exceeds_the_threshold_costs_no_worker_and_counts_no_failure(saver: Saver) -> None:
    model = ScriptedChatModel(["first", "second"])
    graph = agent(model, small(compact_threshold=800), by := worker(), checkpointer=saver, system_prompt=words(700))
    [skipped] = events(graph, "go")
    assert (skipped["event"], skipped["outcome"], by.calls) == ("compact_skipped", "irreducible", 0)
    assert "is not below 800" in skipped["reason"]
    needed = int(skipped["reason"].split(" need ")[1].split()[0])
    assert 800 <= needed <= skipped["tokens_before"]
    assert values(graph)["compaction"].get("failures", 0) == 0


def test_the_run_goes_on_and_it_is_not_looked_at_again_before_the_history_has_grown(saver: Saver) -> None:
    model = ScriptedChatModel(["first", "second", *looks(1, 100), "third"])
    config = small(compact_threshold=800, compact_request_threshold=850)
    graph = agent(model, config, worker(), checkpointer=saver, system_prompt=words(700))
    found = [names(events(graph, text)) for text in ("go", "go on", "look")]
    assert found == [["compact_skipped"], [], ["compact_skipped"]]
    assert history(graph)[-1].content == "third"


def test_a_history_shorter_than_the_tail_is_nothing_to_compact(saver: Saver) -> None:
    config = small(compact_threshold=600)
    graph = agent([words(85)], config, by := worker(), checkpointer=saver, system_prompt=words(210))
    [skipped] = events(graph, words(90))
    assert (skipped["outcome"], by.calls) == ("nothing", 0)


# One reduction


def test_a_first_result_that_is_too_large_has_its_tail_reduced(saver: Saver) -> None:
    model = ScriptedChatModel([*looks(1, 700), "done"])
    config = small(compact_request_threshold=770)
    graph = agent(model, config, worker(writes(LONG)), checkpointer=saver, system_prompt=words(150))
    assert names(events(graph, words(90))) == ["compact_start", "compact_done"]
    [result] = [m for m in history(graph) if isinstance(m, ToolMessage)]
    assert 40 <= count_message(result) < 150
    assert scripted_tokens(model.requests[-1], []) + 230 < 770


def in_a_workspace(saver: Saver, folder: Path, threshold: int) -> Any:
    """A worker that wants a file of about 350 tokens read in."""
    config = small(compact_request_threshold=threshold, auto_read_budget=400)
    by = worker(writes(LONG, call("mark_read_required", path="big.py")))
    steps = [call("read_file", path="big.py"), *looks(1, 800), "done"]
    folder = files(folder, big="\n".join([words(10)] * 32))
    return agent(steps, config, by, checkpointer=saver, workspace=folder)


def test_files_that_still_do_not_fit_become_references(saver: Saver, tmp_path: Path) -> None:
    roomy, tight = in_a_workspace(saver, tmp_path, 1_700), in_a_workspace(saver, tmp_path, 1_300)
    for graph, name in ((roomy, "roomy"), (tight, "tight")):
        assert "compact_done" in names(events(graph, "go", thread(name)))
    [fits], [does_not] = (values(g, thread(n))["segments"] for g, n in ((roomy, "roomy"), (tight, "tight")))
    assert (fits["files"], fits["references"]) == (["big.py"], [])
    assert (does_not["files"], does_not["references"]) == ([], ["big.py"])
    assert does_not["tokens_after"] < 1_300


def test_where_that_is_not_enough_nothing_is_changed(ask: Ask, saver: Saver) -> None:
    steps = [[call("look", tokens=60)] * 10, "done"]
    graph = agent(steps, small(compact_request_threshold=700), worker(writes(LONG)), checkpointer=saver)
    ask(graph, "go")
    status = values(graph)["compaction"]
    assert (status["outcome"], status.get("failures", 0)) == ("no_gain", 0)
    assert values(graph)["segments"] == []
    assert sources(history(graph)) == ["human", "ai", *["tool"] * 10, "ai"]
    assert [m.text for m in history(graph) if isinstance(m, ToolMessage)] == [" ".join(["see"] * 60)] * 10


def test_a_summary_as_long_as_what_it_replaces_changes_nothing(saver: Saver) -> None:
    steps = [*looks(14, 20), "first", "second", *looks(2, 20), "third"]
    by = worker(script=lambda _: writes(LONG))
    graph = agent(steps, small(compact_threshold=560), by, checkpointer=saver, never_pruned=["look"])
    assert names(events(graph, "go")) == ["compact_start", "compact_skipped"]
    before, made = values(graph), by.calls
    assert before["compaction"]["outcome"] == "no_gain"
    assert names(events(graph, "go on")) == [], "the history has not grown"
    assert by.calls == made
    assert unchanged(graph, {**before, "messages": history(graph)})
    assert names(events(graph, "look"))[0] == "compact_start"


# Failures


def test_a_rate_limit_is_tried_again_inside_one_attempt(ask: Ask, saver: Saver) -> None:
    graph = agent([*looks(4, 150), "done"], small(compact_threshold=700), worker(*[LIMITED] * 3), checkpointer=saver)
    ask(graph, "go")
    assert (values(graph)["compaction"]["outcome"], values(graph)["compaction"]["failures"]) == ("committed", 0)


def test_a_rate_limit_that_stays_is_one_failure(ask: Ask, saver: Saver) -> None:
    graph = agent([*looks(4, 150), "done"], small(compact_threshold=700), worker(*[LIMITED] * 9), checkpointer=saver)
    ask(graph, "go")
    status = values(graph)["compaction"]
    assert (status["outcome"], status["failures"]) == ("failed", 1)
    assert status["reason"].startswith("the worker's model failed: ")


@pytest.mark.parametrize("threshold", ["compact_threshold", "compact_request_threshold"])
def test_a_failure_never_fails_the_run_and_changes_nothing(ask: Ask, saver: Saver, threshold: str) -> None:
    graph = agent(
        [*looks(4, 150), "done"], small(**{threshold: 700}), worker(*[ValueError("no")] * 9), checkpointer=saver
    )
    assert ask(graph, "go")["messages"][-1].content == "done"
    assert sources(history(graph)) == ["human", *["ai", "tool"] * 4, "ai"]
    assert (values(graph)["segments"], values(graph)["compaction"]["outcome"]) == ([], "failed")


def test_the_reason_in_the_state_is_short_and_clean(saver: Saver) -> None:
    error = ValueError("no\0\ud800\n" * 5_000)
    graph = agent([*looks(4, 150), "done"], small(compact_threshold=700), worker(error), checkpointer=saver)
    events(graph, "go")
    reason = values(graph)["compaction"]["reason"]
    assert len(reason) < 400
    assert not {"\0", "\ud800", "\n"} & set(reason)


def circles(saver: Saver, by: ScriptedChatModel, **options: Any) -> list[str]:
    """Forty requests above the threshold, each a little larger than the one before."""
    config = small(compact_request_threshold=600, max_failures=1_000, prune_min_savings=200)
    graph = agent([*looks(5, 150), *looks(40, 10), "done"], config, by, checkpointer=saver, **options)
    return names(events(graph, "go", {**thread(), "recursion_limit": 500}))


def test_a_worker_that_always_fails_is_not_called_in_a_circle(saver: Saver) -> None:
    by = worker(*[ValueError("no")] * 100)
    found = circles(saver, by)
    growth = 40 * 45 + 5 * 200
    assert 5 <= found.count("compact_failed") <= growth // 200
    assert by.calls == found.count("compact_failed")


def test_no_gain_is_no_circle_either(saver: Saver) -> None:
    by = worker(script=lambda _: writes(LONG))
    found = circles(saver, by, system_prompt=words(200), never_pruned=["look"])
    assert by.calls == found.count("compact_start")
    assert 3 <= found.count("compact_skipped") <= 12
    assert "compact_done" not in found


def test_nor_is_a_prompt_that_is_too_large(saver: Saver) -> None:
    found = circles(saver, by := worker(), system_prompt=words(700))
    assert by.calls == 0
    assert 3 <= found.count("compact_skipped") <= 12


# Ten parallel results, and a window of the worker's that is too small


def test_ten_parallel_results_larger_than_the_threshold_fit_and_the_task_stays_in_sight(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([[call("look", tokens=120)] * 10, "done"])
    graph = agent(model, small(compact_request_threshold=1_000), worker(), checkpointer=saver)
    ask(graph, "mend the parser, never edit X")
    last = model.requests[-1]
    assert scripted_tokens(last) + 230 < 1_000
    assert "```\nmend the parser, never edit X\n```" in last[0].text
    asked = last[1]
    assert isinstance(asked, AIMessage)
    assert len(asked.tool_calls) == len(last[2:]) == 10
    assert all("cut when the context was compacted" in m.text for m in last[2:])


def test_a_worker_whose_window_is_too_small_is_sent_less_twice_and_then_has_failed(ask: Ask, saver: Saver) -> None:
    by = worker(*[ContextOverflowError("too long")] * 9)
    steps = [*(say(words(40), c) for c in looks(9, 40)), "done"]
    config = small(compact_threshold=700, compact_worker_max_input_tokens=2_400)
    graph = agent(steps, config, by, checkpointer=saver)
    ask(graph, words(90))
    sizes = [len(request[1].text) for request in by.requests]
    assert len(sizes) == 3
    assert sizes[0] - sizes[1] > 500
    assert sizes[1] > sizes[2]
    assert values(graph)["compaction"]["outcome"] == "failed"
    assert "window is too small" in values(graph)["compaction"]["reason"]
    assert sources(history(graph)) == ["human", *["ai", "tool"] * 9, "ai"]


def test_a_worker_that_is_sent_less_once_may_then_go_on(ask: Ask, saver: Saver) -> None:
    by = worker(ContextOverflowError("too long"))
    graph = agent([*looks(4, 150), "done"], small(compact_threshold=700), by, checkpointer=saver)
    ask(graph, "go")
    assert (values(graph)["compaction"]["outcome"], by.calls) == ("committed", 2)
