"""A compaction inside an embedded agent: what the parent keeps, and what a kill in its middle costs."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import MessagesState

import parents
from agents import Ask, history, plan, thread, todo
from compacting import shorten
from longthread.graph import CompactionConfig, as_node, open_saver
from longthread.graph.scripted import call
from longthread.nodes.state import merge_messages
from parents import WRAPS, parent, resumable, summarising
from validity import assert_valid

Saver = BaseCheckpointSaver[Any]
SMALL = CompactionConfig(
    compact_threshold=800, retained_tokens=100, auto_read_budget=100, summary_max_tokens=200, pinned_user_tokens=100
)


@tool
def look(n: int) -> str:
    """Look at something long."""
    return f"{n} " + "word " * 300


def looking(request: list[Any]) -> Any:
    """One look in each turn, then an answer."""
    return call("look", n=len(request)) if request[-1].type == "human" else "So it is."


def tokens(messages: list[AnyMessage]) -> int:
    return sum(len(str(message.content)) for message in messages) // 4


@pytest.mark.parametrize("name", [name for name in WRAPS if name != "last, fresh"])
def test_over_many_turns_it_compacts_as_often_however_it_is_embedded(ask: Ask, saver: Saver, name: str) -> None:
    agent, worker = summarising(looking, SMALL, tools=[look], never_pruned=["look"])
    graph = parent(WRAPS[name](agent), saver)
    for n in range(6):
        ask(graph, f"turn {n}")
    assert worker.calls == 3


@pytest.mark.parametrize("name", ["replace", "replace, fresh"])
def test_in_replace_mode_the_parents_messages_stay_small_too(ask: Ask, saver: Saver, name: str) -> None:
    agent, _ = summarising(looking, SMALL, tools=[look], never_pruned=["look"])
    graph = parent(WRAPS[name](agent), saver)
    for n in range(6):
        ask(graph, f"turn {n}")
        assert tokens(history(graph)) < 800
    assert history(graph)[0].additional_kwargs["source"] == "compaction_summary"


@pytest.mark.parametrize("name", WRAPS)
def test_killed_in_the_workers_second_step_it_goes_on_there(tmp_path: Path, name: str) -> None:
    command = [sys.executable, parents.__file__, str(tmp_path / "threads.db"), name]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -9
    with open_saver(tmp_path / "threads.db") as saver:
        agent, worker = resumable(shorten)
        graph = parent(WRAPS[name](agent), saver)
        found = graph.invoke(None, thread(), durability="sync")["messages"]
        assert worker.calls == 1
        assert graph.get_state(thread()).tasks == ()
    assert (found[0].type == "system") == name.startswith("replace")
    assert_valid(found)


class SharingTodos(MessagesState):
    todos: list[dict[str, str]]


@pytest.mark.parametrize("memory", [True, False], ids=["memory", "fresh"])
def test_in_last_mode_the_open_todos_outlive_a_compaction(ask: Ask, saver: Saver, memory: bool) -> None:
    """The snapshot stands in a history that the parent does not get."""
    agent, worker = summarising([plan(todo()), "word " * 700, "On."])
    graph = parent(as_node(agent, "last", memory=memory), saver, SharingTodos)
    assert ask(graph, "tell me")["todos"] == [todo()]
    assert worker.calls == 1
    assert ask(graph, "go on")["todos"] == [todo()]


def summary(number: int, *through: str) -> SystemMessage:
    segment = {"number": number, "through": list(through)}
    return SystemMessage(
        "so far", id=f"summary-{number}", additional_kwargs={"source": "compaction_summary", "segment": segment}
    )


def spoken(*names: str) -> list[AnyMessage]:
    return [HumanMessage(name, id=name) if name.startswith("h") else AIMessage(name, id=name) for name in names]


def kept(messages: list[Any], state: list[AnyMessage] | None = None) -> list[str | None]:
    return [message.id for message in merge_messages(state, [messages])]


def test_a_summary_that_a_parent_appended_comes_before_what_it_does_not_stand_for() -> None:
    merged = [*spoken("h1", "a1", "h2"), summary(1, "h1", "a1"), *spoken("a2", "h3")]
    assert kept(merged) == ["summary-1", "h2", "a2", "h3"]


def test_of_two_summaries_the_one_of_the_latest_compaction_counts() -> None:
    merged = [*spoken("h1", "a1"), summary(1, "h1", "a1"), *spoken("h2", "a2"), summary(2, "h2"), *spoken("h3")]
    assert kept(merged) == ["summary-2", "a2", "h3"]
    assert kept([*merged, *spoken("a3")], [summary(1, "h1", "a1"), *spoken("h2")]) == ["summary-2", "a2", "h3", "a3"]


def test_what_the_user_put_first_and_the_rebuilt_files_stay_at_the_head() -> None:
    user = SystemMessage("always", id="s")
    file = SystemMessage("text", id="file-1-1", additional_kwargs={"source": "auto_read"})
    assert kept([user, *spoken("h1"), summary(1, "h1"), file, *spoken("h2")]) == ["s", "summary-1", "file-1-1", "h2"]


def test_a_history_in_order_stays_as_it_is() -> None:
    ordered = [summary(1, "h1", "a1"), *spoken("h2", "a2")]
    assert kept(ordered) == ["summary-1", "h2", "a2"]
    assert kept(ordered, merge_messages(None, [ordered])) == ["summary-1", "h2", "a2"]
