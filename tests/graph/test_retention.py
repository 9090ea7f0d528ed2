"""Thinning a thread: what is read, forked and resumed afterwards is the same, on SQLite and Postgres."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver

import kill_prune
from agents import history, thread
from compactions import agent, looks, small, sources, values, worker, writes
from long_threads import EVERYTHING, looked, looking, said
from longthread.graph import (
    AgentState,
    ThreadBusy,
    ThreadError,
    create_agent,
    export_thread,
    fork,
    open_saver,
    prune_thread,
    thread_lock,
    transcript,
)
from longthread.graph.scripted import ScriptedChatModel
from longthread.graph.threads import describe
from longthread.tools.errors import RequestLimitReached
from stores import in_another_process

LONG: Any = {**thread(), "recursion_limit": 2_000}


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    where = request.getfixturevalue("postgres") if request.param == "postgres" else tmp_path / "threads.db"
    with open_saver(where) as opened:
        yield opened


def seen(saver: Any, name: str = "t") -> Any:
    """Everything that can be read of a thread."""
    return transcript(saver, name), describe(saver, name)


def namespaces(saver: Any) -> set[str]:
    return {found.config["configurable"]["checkpoint_ns"] for found in saver.list(None)}


def test_a_pruned_thread_reads_as_before(store: Any) -> None:
    looked(store)
    before = seen(store)
    pruned = prune_thread(store, "t")
    assert pruned.segments == len(before[1].segments) >= 3
    assert pruned.checkpoints > 50
    assert seen(store) == before
    assert said(transcript(store, "t")) == EVERYTHING


def test_only_snapshots_and_the_open_segment_stay(store: Any) -> None:
    graph = looked(store)
    kept = {segment["compacted_from"] for segment in values(graph)["segments"]}
    prune_thread(store, "t")
    closed = [row for row in store.parents("t") if row <= max(kept)]
    assert {*closed} == kept
    assert namespaces(store) == {""}


def test_pruning_twice_changes_nothing_more(store: Any) -> None:
    looked(store)
    prune_thread(store, "t")
    before, rows = seen(store), store.parents("t")
    assert prune_thread(store, "t").checkpoints == 0
    assert (seen(store), store.parents("t")) == (before, rows)


def test_a_pruned_thread_goes_on_and_is_compacted_and_pruned_again(store: Any) -> None:
    looked(store, looks=12)
    prune_thread(store, "t")
    again = agent([*looks(12, 60), "Done again."], small(compact_request_threshold=900), checkpointer=store)
    again.invoke({"messages": [("user", "once more")]}, LONG)
    before = seen(store)
    assert prune_thread(store, "t").segments > 1
    assert seen(store) == before
    assert before[0][-1].text == "Done again."


def test_every_segment_of_a_pruned_thread_can_be_forked(store: Any) -> None:
    graph = looked(store)
    for segment in values(graph)["segments"]:
        fork(store, "t", f"before {segment['number']}", segment["number"])
    prune_thread(store, "t")
    for segment in values(graph)["segments"]:
        fork(store, "t", f"after {segment['number']}", segment["number"])
        before, after = (values(graph, thread(f"{when} {segment['number']}")) for when in ("before", "after"))
        assert after == before


def test_a_fork_of_a_pruned_thread_goes_on(store: Any) -> None:
    looked(store)
    prune_thread(store, "t")
    fork(store, "t", "new", segment=2)
    create_agent(ScriptedChatModel(["Enough."]), checkpointer=store).invoke(None, thread("new"))
    assert said(transcript(store, "new"))[-1] == "Enough."


def test_an_unfinished_run_is_resumed_after_pruning(store: Any) -> None:
    graph = looking(store, max_requests=20)
    with pytest.raises(RequestLimitReached):
        graph.invoke({"messages": [("user", "look thirty times")]}, LONG)
    before = seen(store)
    prune_thread(store, "t")
    assert seen(store) == before
    graph.invoke(None, LONG)
    assert said(transcript(store, "t")) == EVERYTHING


class Strange(AgentState):
    """A state with a delta channel that a bare saver knows nothing of."""

    notes: Annotated[list[str], DeltaChannel(lambda state, writes: [*(state or []), *chain(*writes)], list)]


def test_delta_channels_of_ones_own_need_ones_own_graph(store: Any) -> None:
    graph = looking(store, state_schema=Strange)
    graph.invoke({"messages": [("user", "look thirty times")], "notes": ["mine"]}, LONG)
    before = values(graph)
    with pytest.raises(ThreadError, match="keys of another graph, 'notes'"):
        prune_thread(store, "t")
    assert prune_thread(graph, "t").segments > 1
    assert values(graph) == before
    assert before["notes"] == ["mine"]


class Stopped(BaseException):
    """Ends a run as a kill would."""


def test_a_compaction_under_way_is_resumed_after_pruning(store: Any) -> None:
    calls: list[int] = []

    def dies_in_the_third_compaction(_: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise Stopped
        return writes()

    graph = looking(store, by=worker(script=dies_in_the_third_compaction))
    with pytest.raises(Stopped):
        graph.invoke({"messages": [("user", "look thirty times")]}, LONG, durability="sync")
    assert prune_thread(store, "t").segments == 2
    graph.invoke(None, LONG)
    assert said(transcript(store, "t")) == EVERYTHING


def test_without_history_the_open_segment_stays_and_its_summary_begins_the_transcript(store: Any) -> None:
    graph = looked(store)
    before = values(graph)
    assert prune_thread(store, "t", drop_history=True).segments == 0
    assert values(graph) == before
    assert transcript(store, "t") == [
        m for m in history(graph) if sources([m])[0] not in ("auto_read", "todo_snapshot")
    ]
    with pytest.raises(ThreadError, match="no longer stored"):
        fork(store, "t", "new", segment=1)


def test_a_thread_without_a_compaction_is_left_as_it_is(store: Any) -> None:
    looked(store, looks=3)
    before, rows = seen(store), store.parents("t")
    assert prune_thread(store, "t") == prune_thread(store, "t", drop_history=True)
    assert (seen(store), store.parents("t")) == (before, rows)


def test_a_branch_from_before_a_compaction_that_became_the_newest_is_kept(store: Any) -> None:
    graph = looked(store)
    first = values(graph)["segments"][1]["compacted_from"]
    back = create_agent(ScriptedChatModel(["Back."]), checkpointer=store)
    back.invoke({"messages": [("user", "back here")]}, thread(checkpoint_id=first))
    before = seen(store)
    prune_thread(store, "t")
    assert seen(store) == before
    assert said(before[0])[-2:] == ["back here", "Back."]


def test_other_threads_are_left_alone(store: Any) -> None:
    looked(store)
    looked(store, name="other")
    before, rows = seen(store, "other"), len([*store.list(None)])
    gone = prune_thread(store, "t").checkpoints
    assert seen(store, "other") == before
    assert len([*store.list(None)]) < rows - gone


def test_a_thread_that_a_run_holds_is_not_pruned(store: Any) -> None:
    looked(store, looks=3)
    with thread_lock(store, "t"), pytest.raises(ThreadBusy):
        prune_thread(store, "t", timeout=0)


def test_a_saver_that_cannot_prune_says_so() -> None:
    saver = InMemorySaver()
    looked(saver, looks=3)
    with pytest.raises(ThreadError, match="use a saver from open_saver"):
        prune_thread(saver, "t")


def test_a_pruned_file_holds_at_most_twice_the_conversation(tmp_path: Path) -> None:
    compaction = small(
        compact_request_threshold=20_000,
        retained_tokens=2_000,
        auto_read_budget=500,
        summary_max_tokens=1_000,
        pinned_user_tokens=500,
        prune_min_savings=1_000_000,
    )
    with open_saver(tmp_path / "threads.db") as saver:
        agent([*looks(150, 800), "Done."], compaction, checkpointer=saver).invoke({"messages": [("user", "go")]}, LONG)
        conversation = sum(len(line.encode()) for line in export_thread(saver, "t"))
        assert prune_thread(saver, "t").segments >= 4
        size = sum(file.stat().st_size for file in tmp_path.glob("threads.db*"))
    assert size < 2 * conversation


@pytest.mark.parametrize("kills", [8, pytest.param(100, marks=pytest.mark.kill)])
def test_a_kill_leaves_a_thread_as_it_was_or_pruned(tmp_path: Path, kills: int) -> None:
    found = json.loads(in_another_process(Path(kill_prune.__file__), str(tmp_path), str(kills)))
    assert found["lost"] == 0
    assert found["killed"] == kills
    assert found["untouched"] > 0
