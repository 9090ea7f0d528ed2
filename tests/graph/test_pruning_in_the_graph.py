"""Old tool results are shown by their summary: in steps, for good, and the history itself stays."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, ask_sync, history, thread
from compactions import agent, events, files, look, looks, small, values, words, worker
from longthread.graph import CompactionConfig, ScriptedChatModel, open_saver
from longthread.graph.scripted import call
from longthread.tools.errors import RequestLimitReached
from validity import wire

Saver = BaseCheckpointSaver[Any]
PRUNING = small(prune_protected_tokens=500, prune_min_savings=500)
STEPS: list[Any] = [*looks(30, 150), "done"]
LIMIT: Any = {**thread(), "recursion_limit": 500}


def cleared(request: list[BaseMessage]) -> list[bool]:
    return ["Cleared" in m.text for m in request if isinstance(m, ToolMessage)]


def run(saver: Saver, config: CompactionConfig | None = PRUNING, **options: Any) -> ScriptedChatModel:
    """The model after a turn of thirty loops."""
    model = ScriptedChatModel(STEPS)
    ask_sync(agent(model, config, checkpointer=saver, **options), "go", LIMIT)
    return model


def test_the_history_is_not_changed(ask: Ask, saver: Saver) -> None:
    graph = agent(STEPS, PRUNING, checkpointer=saver)
    ask(graph, "go", LIMIT)
    results = [m for m in history(graph) if isinstance(m, ToolMessage)]
    assert [m.text for m in results] == [words(150, "see")] * 30
    assert values(graph)["pruned_through"] in [m.id for m in results]


def test_what_is_pruned_is_a_prefix_that_only_grows_and_the_newest_stay(saver: Saver) -> None:
    shown = [cleared(request) for request in run(saver).requests]
    for before, after in pairwise(shown):
        assert after == sorted(after, reverse=True), "first those that are hidden, then the others"
        assert sum(after) >= sum(before)
    assert not any(shown[-1][-3:])
    assert sum(shown[-1]) > 15


def test_every_step_saves_the_minimum_at_least(saver: Saver) -> None:
    steps = [e for e in events(agent(STEPS, PRUNING, checkpointer=saver), "go", LIMIT) if e["event"] == "pruned"]
    assert 3 <= len(steps) <= 5
    assert all(step["tokens_before"] - step["tokens_after"] > 480 for step in steps)
    assert all(set(step) == {"event", "results", "tokens_before", "tokens_after"} for step in steps)


def test_between_steps_a_request_is_a_prefix_of_the_next(saver: Saver) -> None:
    broken = 0
    for before, after in pairwise(map(wire, run(saver).requests)):
        broken += after[: len(before)] != before
    assert 3 <= broken <= 5


def test_a_restart_in_the_middle_makes_the_same_requests(tmp_path: Path) -> None:
    whole, parts = [], []
    with open_saver(tmp_path / "whole.db") as saver:
        whole = run(saver).requests
    for start in (0, 15):
        with open_saver(tmp_path / "parts.db") as saver:
            model = ScriptedChatModel(STEPS, start=start)
            graph = agent(model, PRUNING, checkpointer=saver, max_requests=None if start else 15)
            if start:
                ask_sync(graph, None, LIMIT)
            else:
                with pytest.raises(RequestLimitReached):
                    ask_sync(graph, "go", LIMIT)
            parts += model.requests
    assert [wire(request) for request in parts] == [wire(request) for request in whole]


def test_a_pruned_file_that_is_read_again_unchanged_is_given_in_full(ask: Ask, saver: Saver, tmp_path: Path) -> None:
    folder = files(tmp_path, a="\n".join(f"line {n} {words(8)}" for n in range(30)))
    read = call("read_file", path="a.py")
    config = small(prune_protected_tokens=100, prune_min_savings=100)
    model = ScriptedChatModel([read, *looks(4, 80), read, "done"])
    ask(agent(model, config, checkpointer=saver, workspace=folder), "go", LIMIT)
    texts = [m.text for m in model.requests[-1] if isinstance(m, ToolMessage) and m.name == "read_file"]
    assert "Cleared" in texts[0]
    assert "30\tline 29" in texts[1]
    assert "1\tline 0" in texts[1]


def test_a_pruned_file_is_not_known_any_more_and_must_be_read_before_an_edit(saver: Saver, tmp_path: Path) -> None:
    folder = files(tmp_path, a="\n".join(f"line {n} {words(8)}" for n in range(30)))
    read, edit = call("read_file", path="a.py"), call("edit_file", path="a.py", old="line 0 ", new="first ")
    config = small(prune_protected_tokens=100, prune_min_savings=100)
    graph = agent([read, *looks(4, 80), edit, read, edit, "done"], config, checkpointer=saver, workspace=folder)
    ask_sync(graph, "go", LIMIT)
    refused, made = (m for m in history(graph) if isinstance(m, ToolMessage) and m.name == "edit_file")
    assert "no longer in the conversation" in refused.text
    assert (refused.status, made.status) == ("error", "success")


def test_an_error_keeps_its_first_and_last_lines(saver: Saver) -> None:
    @tool
    def crash() -> str:
        """Crash."""
        raise ValueError("\n".join(["Traceback", *[words(30)] * 20, "ValueError: the reason"]))

    model = ScriptedChatModel([call("crash"), *looks(9, 150), "done"])
    ask_sync(agent(model, PRUNING, tools=[look, crash], checkpointer=saver), "go", LIMIT)
    first = next(m for m in model.requests[-1] if isinstance(m, ToolMessage))
    assert first.text.startswith("Error: Traceback")
    assert first.text.endswith("ValueError: the reason")
    assert "lines cleared to save space" in first.text


def test_a_tool_may_be_marked_never_to_be_pruned(saver: Saver) -> None:
    assert not any(cleared(run(saver, never_pruned=["look"]).requests[-1]))


def test_without_compaction_nothing_is_pruned(saver: Saver) -> None:
    assert not any(cleared(run(saver, None).requests[-1]))


def test_pruning_comes_before_a_compaction_is_considered(saver: Saver) -> None:
    config = small(compact_request_threshold=2_500, prune_protected_tokens=500, prune_min_savings=500)
    graph = agent([*STEPS[:17], "done"], config, by := worker(), checkpointer=saver)
    found = [event["event"] for event in events(graph, "go", LIMIT)]
    assert (set(found), by.calls) == ({"pruned"}, 0)


def test_a_compaction_begins_with_nothing_pruned(saver: Saver) -> None:
    graph = agent([*STEPS, "more"], PRUNING, checkpointer=saver)
    ask_sync(graph, "go", LIMIT)
    ask_sync(graph, {"compact_request": ""}, LIMIT)
    assert values(graph)["pruned_through"] is None
    left: list[AnyMessage] = [m for m in history(graph) if isinstance(m, ToolMessage)]
    assert all("Cleared" in m.text or m.text == words(150, "see") for m in left)
