"""A compaction that is cut off anywhere: the history is the old one or the new one, and nothing finished is paid twice.

The thread is that of `tests/support/interruptions.py`: six requests, one compaction whose worker
makes four requests and passes every one of its nodes.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kill_matrix
from interruptions import (
    RETAINED,
    TASK,
    THREAD,
    agent,
    every_fingerprint,
    fingerprint,
    finished_requests,
    logger,
    read_log,
    requests,
    watched,
    worker_plans,
    worker_steps,
    write_workspace,
)

WORKER_REQUESTS = len(worker_steps())


def matrix(folder: Path, durability: str, when: str, step: int, seconds: float = 0) -> Any:
    """The kills of `tests/support/kill_matrix.py`."""
    command = [sys.executable, kill_matrix.__file__, str(folder), durability, when, str(step), str(seconds)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout)


def assert_old_or_new(found: Any) -> None:
    """Every kill happened, left a history that the undisturbed run has too, and the run could be finished."""
    assert found["whole"]["done"]
    assert len(found["whole"]["segments"]) == 1
    for kill in found["kills"]:
        assert kill["killed"], kill["at"]
        assert kill["stored"]["fingerprint"] in found["whole"]["every"], f"a mix after {kill['at']}"
        assert kill["final"]["done"]
        assert len(kill["final"]["segments"]) == 1


def assert_nothing_repeated(found: Any) -> None:
    """No finished request was sent again; the one in flight may have been."""
    for kill in found["kills"]:
        assert not set(kill["again"]) & set(kill["finished"]), f"paid twice after {kill['at']}"
        assert kill["finished_by_worker"] + kill["again_by_worker"] == WORKER_REQUESTS


def assert_begun_is_committed(found: Any) -> None:
    """The plan that was stored is the one committed, though the resumed process would make another."""
    begun = [kill for kill in found["kills"] if kill["stored"]["plans"]]
    assert begun
    for kill in begun:
        assert kill["final"]["plans"] == kill["stored"]["plans"]
        assert kill["final"]["segments"] == found["whole"]["segments"]


def assert_same_end(found: Any) -> None:
    """As if nothing had happened."""
    assert {kill["final"]["fingerprint"] for kill in found["kills"]} == {found["whole"]["fingerprint"]}


def assert_survived(found: Any) -> None:
    """Everything that `durability="sync"` promises."""
    assert_old_or_new(found)
    assert_nothing_repeated(found)
    assert_begun_is_committed(found)
    assert_same_end(found)


@pytest.mark.parametrize(("when", "step"), [("after", 4), ("before", 7)])
def test_a_kill_at_a_write_changes_nothing(tmp_path: Path, when: str, step: int) -> None:
    assert_survived(matrix(tmp_path, "sync", when, step))


@pytest.mark.kill
@pytest.mark.parametrize("when", ["after", "before"])
def test_a_kill_at_every_write_around_the_worker_changes_nothing(tmp_path: Path, when: str) -> None:
    found = matrix(tmp_path, "sync", when, 1)

    assert_survived(found)
    assert len(found["kills"]) > 20


def test_a_roomier_setting_makes_another_plan(tmp_path: Path) -> None:
    plans = []
    for name, retained in {"a": RETAINED, "b": kill_matrix.ROOMIER}.items():
        saver = watched(tmp_path / f"{name}.db", logger(tmp_path / "log"))
        graph = agent(write_workspace(tmp_path / name), logger(tmp_path / "log"), saver, retained)
        graph.invoke(TASK, THREAD)
        plans.append(worker_plans(graph, saver)[0]["last"])

    assert plans[0] != plans[1]


def test_with_the_default_durability_the_worker_repeats_nothing_either(tmp_path: Path) -> None:
    found = matrix(tmp_path, "async", "after", 12, seconds=0.15)

    assert_old_or_new(found)
    for kill in found["kills"]:
        assert kill["finished_by_worker"] + kill["again_by_worker"] == WORKER_REQUESTS


@pytest.mark.kill
@pytest.mark.parametrize("when", ["after", "before"])
def test_with_the_default_durability_no_kill_makes_the_worker_repeat(tmp_path: Path, when: str) -> None:
    found = matrix(tmp_path, "async", when, 1, seconds=0.1)

    assert_old_or_new(found)
    for kill in found["kills"]:
        assert kill["finished_by_worker"] + kill["again_by_worker"] == WORKER_REQUESTS


class Cancelled:
    """A run that is cancelled around a write of its saver, looked at, and resumed."""

    def __init__(self, folder: Path, at: int, when: str) -> None:
        self.log, self.at = logger(folder / "log"), (at, when)
        self.saver = watched(folder / "t.db", self.log, self._cut)
        self.graph = agent(write_workspace(folder / "workspace"), self.log, self.saver)
        asyncio.run(self._cancel())
        self.stored = fingerprint(self.graph.get_state(THREAD).values)
        lines = read_log(folder / "log")
        self.finished, self.sent = requests(finished_requests(lines)), len(lines)
        asyncio.run(self.graph.ainvoke(None, THREAD, durability="sync"))
        self.again = requests(read_log(folder / "log")[self.sent :])
        self.final = fingerprint(self.graph.get_state(THREAD).values)

    async def _cancel(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.task = asyncio.create_task(self.graph.ainvoke(TASK, THREAD, durability="sync"))
        with pytest.raises(asyncio.CancelledError):
            await self.task

    def _cut(self, number: int, when: str) -> None:
        if (number, when) == self.at:
            self.loop.call_soon_threadsafe(self.task.cancel)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[int]]:
    """What the undisturbed run stores, and the numbers of its writes around the worker."""
    folder = tmp_path_factory.mktemp("whole")
    saver = watched(folder / "t.db", logger(folder / "log"))
    graph = agent(write_workspace(folder / "workspace"), logger(folder / "log"), saver)
    asyncio.run(graph.ainvoke(TASK, THREAD, durability="sync"))
    return every_fingerprint(graph), list(kill_matrix.around_the_worker(read_log(folder / "log")))


def assert_cancelled_well(folder: Path, whole: tuple[list[str], list[int]], place: int, when: str) -> None:
    """Old or new, nothing finished sent again, the same end."""
    every, writes = whole
    cancelled = Cancelled(folder, writes[place], when)
    assert cancelled.stored in every
    assert not set(cancelled.again) & set(cancelled.finished)
    assert cancelled.final == every[-1]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("place", [3, 8, 13, 18, 23])
def test_a_cancellation_leaves_the_old_history_or_the_new_one(
    tmp_path: Path, whole: tuple[list[str], list[int]], place: int, when: str
) -> None:
    assert_cancelled_well(tmp_path, whole, place, when)


@pytest.mark.kill
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_cancellation_at_any_write_leaves_the_old_history_or_the_new_one(
    tmp_path: Path, whole: tuple[list[str], list[int]], when: str
) -> None:
    for place in range(len(whole[1])):
        assert_cancelled_well(tmp_path / str(place), whole, place, when)
