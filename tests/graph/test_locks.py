"""One run at a time per thread: who waits, who gets the error, and that a killed owner holds nothing."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from longthread.graph import ThreadBusy, ThreadError, open_saver, thread_lock
from stores import at_once

Saver = BaseCheckpointSaver[Any]
HOLD = """
import sys, time
from longthread.graph import open_saver, thread_lock
with open_saver(sys.argv[1]) as saver, thread_lock(saver, "t"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that processes share."""
    return str(request.getfixturevalue("postgres") if request.param == "postgres" else tmp_path / "threads.db")


@pytest.fixture(params=["sqlite", "postgres", "memory", "in memory"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    """Every kind of saver that can be locked."""
    if request.param == "in memory":
        yield InMemorySaver()
        return
    places: dict[str, Callable[[], str]] = {
        "sqlite": lambda: str(tmp_path / "threads.db"),
        "postgres": lambda: str(request.getfixturevalue("postgres")),
        "memory": lambda: ":memory:",
    }
    with open_saver(places[request.param]()) as opened:
        yield opened


@pytest.fixture
def owner(where: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds thread `t`."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, where], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_owner_gets_an_error_that_names_the_thread(saver: Saver) -> None:
    with (
        thread_lock(saver, "my thread"),
        pytest.raises(ThreadBusy, match=r"'my thread' is in use .* after 0\.1 s: try again"),
        thread_lock(saver, "my thread", timeout=0.1),
    ):
        pytest.fail("two owners at once")


def test_another_thread_is_free_meanwhile(saver: Saver) -> None:
    with thread_lock(saver, "a"), thread_lock(saver, "b", timeout=0):
        pass


def test_the_lock_is_free_after_its_block_and_after_an_error_in_it(saver: Saver) -> None:
    with pytest.raises(RuntimeError), thread_lock(saver, "t"):
        raise RuntimeError("inside")
    with thread_lock(saver, "t", timeout=0):
        pass


def test_threads_of_one_process_take_turns(saver: Saver) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        with thread_lock(saver, "t", timeout=20):
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1

    at_once(work, 5 * [()])
    assert most == 1


async def test_tasks_of_one_loop_take_turns_and_do_not_block_it(saver: Saver) -> None:
    order: list[str] = []

    async def work(name: str) -> None:
        async with thread_lock(saver, "t", timeout=20):
            order.append(name)
            await asyncio.sleep(0.05)
            order.append(name)

    await asyncio.gather(work("a"), work("b"))
    assert order in (["a", "a", "b", "b"], ["b", "b", "a", "a"])


async def test_a_task_that_is_cancelled_while_it_waits_holds_nothing(saver: Saver) -> None:
    async with thread_lock(saver, "t"):
        waiting = asyncio.create_task(thread_lock(saver, "t", timeout=20).__aenter__())
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with thread_lock(saver, "t", timeout=0):
        pass


def test_without_a_saver_nothing_is_held() -> None:
    with thread_lock(None, "t"), thread_lock(None, "t", timeout=0):
        pass


def test_another_kind_of_saver_is_an_error_and_not_a_lock_that_keeps_nobody_out() -> None:
    with SqliteSaver.from_conn_string(":memory:") as foreign, pytest.raises(ThreadError, match="SqliteSaver"):
        thread_lock(foreign, "t")


@pytest.mark.usefixtures("owner")
def test_the_lock_keeps_out_other_processes(where: str) -> None:
    with open_saver(where) as saver, pytest.raises(ThreadBusy, match="'t' is in use"), thread_lock(saver, "t", 0.1):
        pytest.fail("two owners at once")


def test_a_killed_owners_lock_frees_itself(where: str, owner: subprocess.Popen[str]) -> None:
    with open_saver(where) as saver:
        owner.kill()
        with thread_lock(saver, "t", timeout=5):
            pass


def test_the_second_process_goes_on_as_soon_as_the_first_has_ended(where: str, owner: subprocess.Popen[str]) -> None:
    threading.Timer(0.3, owner.terminate).start()
    began = time.monotonic()
    with open_saver(where) as saver, thread_lock(saver, "t", timeout=20):
        assert 0.2 < time.monotonic() - began < 5


def test_a_busy_file_names_the_process_that_holds_it(tmp_path: Path) -> None:
    where = tmp_path / "threads.db"
    with (
        open_saver(where) as saver,
        subprocess.Popen([sys.executable, "-c", HOLD, where], stdout=subprocess.PIPE, text=True) as owner,
    ):
        assert owner.stdout
        owner.stdout.readline()
        with pytest.raises(ThreadBusy, match=rf"\(process {owner.pid}\)"):
            thread_lock(saver, "t", timeout=0).__enter__()
        owner.kill()


def test_the_same_file_by_another_path_is_the_same_lock(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with (
        open_saver(tmp_path / "threads.db") as one,
        open_saver(tmp_path / "link" / "threads.db") as other,
        thread_lock(one, "t"),
        pytest.raises(ThreadBusy),
        thread_lock(other, "t", timeout=0),
    ):
        pytest.fail("two owners at once")


def test_no_lock_file_is_left_behind(tmp_path: Path) -> None:
    with open_saver(tmp_path / "threads.db") as saver, thread_lock(saver, "../odd: name\n"):
        assert len([*tmp_path.glob("*.lock")]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["threads.db"]
