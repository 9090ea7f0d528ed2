"""A store that fails: one clear error, and the thread goes on once the store is well again."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage, ToolCall
from langchain_core.tools import BaseTool, tool

from agents import Ask, ask_sync, history, results, thread
from longthread.graph import CompactionConfig, StoreUnusable, create_agent, open_saver
from longthread.graph.savers.sqlite import SqliteThreads
from longthread.graph.scripted import ScriptedChatModel, Step, call
from stores import at_once, in_another_process

SUMMARY = "\n".join(
    f"## {section}\n{'- done ' * 30}"
    for section in ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
)
OPEN = "import sys; from longthread.graph import open_saver; open_saver(sys.argv[1]).close()"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "threads.db"


@pytest.fixture
def saver(path: Path) -> Iterator[SqliteThreads]:
    with SqliteThreads(sqlite3.connect(path, check_same_thread=False, isolation_level=None), str(path)) as opened:
        yield opened


def pragma(saver: SqliteThreads, name: str) -> int:
    with saver.cursor(transaction=False) as cursor:
        return int(cursor.execute(f"PRAGMA {name}").fetchone()[0])


def fill(saver: SqliteThreads) -> None:
    """As if the disk had no more room than the file takes."""
    pragma(saver, f"max_page_count = {pragma(saver, 'page_count')}")


def make_room(saver: SqliteThreads) -> None:
    pragma(saver, "max_page_count = 1000000")


def filling(saver: SqliteThreads, looked: list[str]) -> BaseTool:
    """A tool with a long result; at its first call for `b` the disk is full."""

    @tool
    def fetch(name: str) -> str:
        """Fetch."""
        looked.append(name)
        if looked == ["a", "b"]:
            fill(saver)
        return f"{name} " * 10_000

    return fetch


def test_a_full_disk_is_a_clear_error_and_the_thread_goes_on_once_there_is_room(
    saver: SqliteThreads, path: Path, ask: Ask
) -> None:
    looked: list[str] = []
    script: list[Step] = [call("fetch", name="a"), call("fetch", name="b"), "Done."]
    graph = create_agent(ScriptedChatModel(script), [filling(saver, looked)], checkpointer=saver)
    with pytest.raises(StoreUnusable, match=rf"{path}.*full; make room and resume the thread"):
        ask(graph, "fetch", durability="sync")
    make_room(saver)
    assert graph.get_state(thread()).next == ("execute_tools",)
    assert ask(graph, None, durability="sync")["messages"][-1].content == "Done."
    assert [text[0] for text in results(history(graph))] == looked[:2] == ["a", "b"]
    assert looked == ["a", "b", "b"]


def test_a_disk_that_is_full_while_the_worker_writes_is_no_failed_compaction(saver: SqliteThreads) -> None:
    def write(_: list[BaseMessage]) -> ToolCall:
        if not written:
            fill(saver)
        written.append(1)
        return call("write_summary", text=SUMMARY)

    written: list[int] = []
    worker = ScriptedChatModel(write, prefix="worker")
    config = CompactionConfig(
        compact_threshold=900, retained_tokens=100, summary_max_tokens=600, pinned_user_tokens=50, auto_read_budget=0
    )
    model = ScriptedChatModel(["word " * 1200])
    graph = create_agent(model, worker_model=worker, compaction=config, checkpointer=saver)
    with pytest.raises(StoreUnusable):
        ask_sync(graph, "tell", durability="sync")
    make_room(saver)
    ask_sync(graph, None, durability="sync")
    state = graph.get_state(thread()).values
    assert (state["compaction"]["outcome"], len(state["segments"])) == ("committed", 1)


def test_a_file_that_another_process_holds_is_a_clear_error_and_the_thread_goes_on_later(
    saver: SqliteThreads, path: Path, ask: Ask
) -> None:
    graph = create_agent(ScriptedChatModel(["one", "two"]), checkpointer=saver)
    ask(graph, "1", durability="sync")
    pragma(saver, "busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreUnusable, match=rf"{path}.*locked; another process is writing to it"):
        ask(graph, "2", durability="sync")
    other.close()
    assert ask(graph, "2", durability="sync")["messages"][-1].content == "two"


def test_a_file_damaged_under_a_run_is_a_clear_error(path: Path) -> None:
    with open_saver(path) as saver:
        ask_sync(create_agent(ScriptedChatModel(["word " * 50_000]), compaction=None, checkpointer=saver), "1")
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xff" * len(damaged[4096:])
    path.write_bytes(damaged)
    with pytest.raises(StoreUnusable, match=rf"{path}.*restore a backup"), open_saver(path) as saver:
        create_agent(ScriptedChatModel(["x"]), checkpointer=saver).get_state(thread())


def test_what_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Dear diary, " * 100)
    with pytest.raises(StoreUnusable, match=r"notes.txt.*not a database; choose another file"):
        open_saver(tmp_path / "notes.txt")
    with pytest.raises(StoreUnusable, match="cannot be used as a thread store"):
        open_saver(tmp_path)
    with pytest.raises(StoreUnusable, match="cannot be used as a thread store"):
        open_saver(tmp_path / "notes.txt" / "threads.db")


def test_a_saver_that_was_closed_says_so(path: Path) -> None:
    with open_saver(path) as saver:
        graph = create_agent(ScriptedChatModel(["one"]), checkpointer=saver)
    with pytest.raises(StoreUnusable, match=r"closed"):
        ask_sync(graph, "1")


def test_processes_may_make_the_same_file_at_once(path: Path) -> None:
    at_once(in_another_process, 3 * [(OPEN, str(path))])
    failed: list[Exception] = []

    def work() -> None:
        try:
            open_saver(path.with_name("other.db")).close()
        except StoreUnusable as error:
            failed.append(error)

    at_once(work, 8 * [()])
    assert failed == []
