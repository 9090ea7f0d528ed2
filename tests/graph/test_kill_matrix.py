"""Thirty loops with edits, parallel tools, reminders and two compactions, killed everywhere: nothing lost or repeated.

The run is that of `tests/support/thirty_loops.py`, the kills are those of `kill_loops.py`. An answer
of a model, and a result of a tool, counts as finished once the saver has stored it; the step in
flight may run again.
"""

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kill_loops
from thirty_loops import CONFIG, TASK, Log, agent, fingerprint, repeated, texts, watched, write_workspace


def kills(folder: Path, store: str, way: str, number: int) -> dict[str, Any]:
    """What `kill_loops` found."""
    command = [sys.executable, kill_loops.__file__, str(folder / way), store, way, str(number)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    found: dict[str, Any] = json.loads(ran.stdout)
    print(way, number, {key: found[key] for key in ("kills", "repeats", "losses")})
    return found


def assert_nothing_lost(found: dict[str, Any], at_least: int) -> None:
    """Every run came to the end of the undisturbed one, and nothing finished was done again."""
    assert found["whole"]["done"]
    assert (found["whole"]["segments"], found["whole"]["files"]) == (2, ["count = 10"] * 3)
    assert found["whole"]["reminders"] > 0
    assert found["kills"] >= at_least
    assert (found["losses"], found["repeats"]) == (0, 0)


@pytest.mark.slow
def test_a_run_whose_processes_die_after_every_twentieth_write_comes_to_the_same_end(tmp_path: Path) -> None:
    assert_nothing_lost(kills(tmp_path, "sqlite", "every", 20), at_least=20)


@pytest.mark.slow
def test_a_run_killed_at_some_moment_comes_to_the_same_end(tmp_path: Path) -> None:
    assert_nothing_lost(kills(tmp_path, "sqlite", "random", 4), at_least=4)


@pytest.mark.slow
def test_a_run_on_postgres_whose_processes_die_comes_to_the_same_end(tmp_path: Path, postgres_server: str) -> None:
    assert_nothing_lost(kills(tmp_path, postgres_server, "every", 60), at_least=8)


@pytest.mark.kill
@pytest.mark.timeout(1_800)
def test_a_run_whose_processes_die_after_every_write_comes_to_the_same_end(tmp_path: Path) -> None:
    assert_nothing_lost(kills(tmp_path, "sqlite", "every", 1), at_least=500)


@pytest.mark.kill
@pytest.mark.timeout(3_600)
def test_a_run_killed_at_two_hundred_moments_comes_to_the_same_end(tmp_path: Path) -> None:
    assert_nothing_lost(kills(tmp_path, "sqlite", "random", 200), at_least=200)


@pytest.mark.kill
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("way", "number", "at_least"), [("every", 1, 500), ("random", 20, 20)])
def test_a_run_on_postgres_killed_everywhere_comes_to_the_same_end(
    tmp_path: Path, postgres_server: str, way: str, number: int, at_least: int
) -> None:
    assert_nothing_lost(kills(tmp_path, postgres_server, way, number), at_least)


async def cancelled_and_resumed(folder: Path, seconds: list[float]) -> tuple[Any, list[str], int]:
    """The final state and files, what was done again, and how many of these cancellations hit."""
    log, saver, again, hits = Log(folder / "log"), None, [], 0
    workspace = write_workspace(folder / "w")
    saver = watched(folder / "t.db", log)
    graph, given, before = agent(workspace, log, saver), TASK, 0
    for wait in [*seconds, None]:
        task = asyncio.create_task(graph.ainvoke(given, CONFIG, durability="sync"))
        await asyncio.wait([task], timeout=wait)
        hits += task.cancel()
        await asyncio.wait([task])
        lines = log.lines()
        again += repeated(lines[:before], lines[before:])
        given, before = None, len(lines)  # type: ignore[assignment]  # None goes on
    state = await graph.aget_state(CONFIG)
    return (fingerprint(state.values), texts(workspace)), again, hits


async def test_a_cancelled_run_comes_to_the_same_end(tmp_path: Path) -> None:
    whole, _, _ = await cancelled_and_resumed(tmp_path / "whole", [])
    moments = random.Random(1)
    found, again, hits = await cancelled_and_resumed(tmp_path / "cut", [moments.uniform(0.05, 0.4) for _ in range(6)])
    assert found == whole
    assert hits >= 3
    assert again == []
