"""Random histories and random sequences of what happens to a thread: what must hold after every step of it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

import random_threads
from agents import thread
from compactions import agent, looks, small, sources, values
from histories import IMAGE, histories
from interruptions import fingerprint
from longthread.graph.scripted import ScriptedChatModel, scripted_tokens
from longthread.nodes.history.repair import repair
from longthread.tools.tokens import count_message, count_text
from random_threads import (
    OPERATIONS,
    WORKERS,
    Attempt,
    Operation,
    World,
    copied,
    ids,
    is_committed,
    once,
    parts,
    stored,
)
from validity import assert_valid, assert_valid_strict

VALID: dict[str, Any] = {"system": assert_valid, "user": assert_valid_strict}
OUTCOMES = {"failed", "no_gain", "irreducible", "nothing"}
THRESHOLDS = {"compact_threshold": 2_300, "compact_request_threshold": 2_500}
PIXELS = IMAGE["image_url"]["url"].partition(",")[2]
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""No shrinking: an example takes a second, and hundreds of them would not be waited for."""
SEQUENCES = st.lists(OPERATIONS, min_size=2, max_size=7)


def assert_lawful(attempt: Attempt) -> None:
    """Committed within its threshold with every message in its place, or a typed outcome with nothing changed."""
    if not is_committed(attempt):
        assert attempt.after["compaction"]["outcome"] in OUTCOMES
        assert stored(attempt.after) == stored(attempt.before)
        return
    segment = attempt.after["segments"][-1]
    assert once(attempt) == ids(repair(attempt.before["messages"]))
    assert len(set(ids(attempt.after["messages"]))) == len(attempt.after["messages"])
    assert segment["tokens_after"] < min(segment["tokens_before"], THRESHOLDS.get(segment["trigger"], 10**9))
    assert segment["kept"] == len(parts(attempt)[2])
    assert attempt.after["todos"] == []


def live(world: World, operations: Sequence[Operation]) -> None:
    """Let everything happen, and look at each attempt and at each request."""
    for operation in operations:
        for attempt in world.do(operation):
            assert_lawful(attempt)
        for request in [*world.sent, *world.worked]:
            VALID[world.role](request)
        assert not any(PIXELS in str(message.content) for request in world.worked for message in request)
        world.sent.clear()
        world.worked.clear()


@pytest.mark.parametrize("role", ["system", "user"])
@settings(max_examples=12, deadline=None, phases=PHASES)
@given(history=histories(), operations=SEQUENCES, worker=st.sampled_from(list(WORKERS)))
def test_whatever_happens_requests_are_valid_and_messages_stand_once(
    role: Any, history: Any, operations: list[Operation], worker: str
) -> None:
    with TemporaryDirectory() as folder:
        world = World(Path(folder, "t.db"), role, worker)
        live(world, [("import", history), *operations, ("compact", ""), ("say", "and on", [])])


@settings(max_examples=8, deadline=None, phases=PHASES)
@given(history=histories(), operations=SEQUENCES)
def test_a_fresh_agent_over_the_same_file_sends_the_same_bytes(history: Any, operations: list[Operation]) -> None:
    with TemporaryDirectory() as folder:
        world = World(Path(folder, "t.db"), "system")
        live(world, [("import", history), *operations])
        other = World(copied(world.database, Path(folder, "copy.db")), "system")

        assert other.last_word() == world.last_word()
        assert fingerprint(other.values()) == fingerprint(world.values())


@pytest.mark.parametrize("role", ["system", "user"])
def test_another_process_sends_the_same_bytes(tmp_path: Path, role: Any) -> None:
    world = World(tmp_path / "t.db", role)
    live(world, [("say", "look", [[400], [60, 60]]), ("plan", "pending"), ("compact", ""), ("say", "more", [[400]])])
    copy = copied(world.database, tmp_path / "copy.db")
    command = [sys.executable, random_threads.__file__, str(copy), role]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)

    assert len(world.values()["segments"]) >= 1
    assert json.loads(ran.stdout) == json.loads(json.dumps(world.last_word(), default=repr))


def test_ten_summaries_of_a_worker_that_only_appends_stay_bounded(tmp_path: Path) -> None:
    world = World(tmp_path / "t.db", "system", "growing")
    texts, sizes = [], []
    for n in range(10):
        live(world, [("say", f"look at number {n}", [[200], [200], [60]]), ("compact", "")])
        summary, *_ = messages = world.values()["messages"]
        texts.append(count_text(summary.additional_kwargs["text"]))
        sizes.append(sum(map(count_message, messages)))

    assert len(world.values()["segments"]) >= 10
    assert max(texts) <= 150 * 1.5
    assert max(sizes[5:]) <= max(sizes[:5]) * 1.2


def test_a_directive_of_the_first_turn_is_in_the_tenth_history_word_for_word(tmp_path: Path) -> None:
    world = World(tmp_path / "t.db", "system")
    live(world, [("say", "Never edit generated.py, whatever I say later.", [[60]])])
    for n in range(10):
        live(world, [("say", f"look at number {n}", [[60], [60]]), ("compact", "")])

    assert len(world.values()["segments"]) >= 10
    assert "Never edit generated.py, whatever I say later." in world.values()["messages"][0].text


def test_what_a_compaction_put_in_is_no_tail_of_the_next(tmp_path: Path) -> None:
    """What came since would fit into the tail in summary-only form, and the files before it too."""
    world = World(tmp_path / "t.db", "system")
    live(world, [("read", "a.py"), ("plan", "pending"), ("say", "look", [[2_200]])])
    live(world, [("say", "look", [[400]]), ("compact", "")])

    assert len(world.values()["segments"]) == 2
    assert sources(world.values()["messages"]) == ["compaction_summary", "auto_read", "todo_snapshot", "ai"]


@pytest.mark.parametrize("tokens", [0.6, 1.7])
def test_what_a_compaction_says_that_it_left_is_what_the_next_check_finds(tmp_path: Path, tokens: float) -> None:
    model = ScriptedChatModel(
        [*looks(5, 300), "done", "more"], usage=lambda request, _: round(scripted_tokens(request) * tokens)
    )
    graph = agent(model, small(), checkpointer=InMemorySaver())
    graph.invoke({"messages": [("user", "look")]}, thread())
    graph.invoke({"compact_request": ""}, thread())
    after = values(graph)["segments"][-1]["tokens_after"]
    graph.invoke({"messages": [("user", "x")]}, thread())
    [check, *_] = [state for state in graph.get_state_history(thread()) if state.next == ("call_model",)]

    assert abs(check.values["occupancy"]["tokens"] - after) < after * 0.15
