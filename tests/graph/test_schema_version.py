"""Stored threads of other versions: an older one is migrated as it is loaded, a newer one is refused.

`before.sql` holds a thread as LangChain's agents store it: plain lists, todos without ids, no version.
`newer.sql` holds one of this agent's in the version after this one.
"""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents import plan, thread, todo
from compactions import values
from long_threads import said
from longthread.graph import ThreadError, create_agent, list_threads, open_saver, transcript
from longthread.graph.cli.main import main
from longthread.graph.scripted import ScriptedChatModel, say
from longthread.graph.threads import describe
from longthread.nodes.version import VERSION
from longthread.tools.errors import ThreadTooNew

DATA = Path(__file__).parent.parent / "data" / "threads"
Stored = Callable[[str], Any]


def stored(folder: Path, name: str) -> Path:
    """A database made from the dump of that name."""
    with closing(sqlite3.connect(folder / f"{name}.db")) as connection:
        connection.executescript((DATA / f"{name}.sql").read_text())
    return folder / f"{name}.db"


def test_an_older_thread_is_read_in_todays_shape(tmp_path: Path) -> None:
    with open_saver(stored(tmp_path, "before")) as saver:
        assert said(transcript(saver, "t")) == ["write the docs", "I begin."]
        assert describe(saver, "t").info.todos == [todo()]


def test_an_older_thread_goes_on_and_is_of_todays_version_then(tmp_path: Path) -> None:
    with open_saver(stored(tmp_path, "before")) as saver:
        graph = create_agent(ScriptedChatModel([say("", plan(todo("2"))), "Done."]), checkpointer=saver)
        assert values(graph)["schema_version"] == 0
        graph.invoke({"messages": [("user", "go on")]}, thread())
        found = values(graph)
    assert said(found["messages"]) == ["write the docs", "I begin.", "go on", "", "Done."]
    assert (found["schema_version"], found["todos"]) == (VERSION, [todo("2")])


def test_a_newer_thread_is_refused_with_both_versions_and_the_way_out(tmp_path: Path) -> None:
    with open_saver(stored(tmp_path, "newer")) as saver:
        graph = create_agent(ScriptedChatModel(["Never said."]), checkpointer=saver)
        for use in (
            lambda: graph.invoke({"messages": [("user", "on")]}, thread()),
            lambda: graph.invoke(None, thread()),
            lambda: graph.get_state(thread()),
            lambda: transcript(saver, "t"),
        ):
            with pytest.raises(ThreadTooNew, match=f"version {VERSION + 1}, .* up to {VERSION}: upgrade it") as refused:
                use()
            assert isinstance(refused.value, ThreadError)
            assert (refused.value.found, refused.value.known) == (VERSION + 1, VERSION)


def test_a_refused_thread_is_left_as_it_is(tmp_path: Path) -> None:
    where = stored(tmp_path, "newer")
    shutil.copy(where, tmp_path / "copy.db")
    with open_saver(where) as saver, pytest.raises(ThreadTooNew):
        create_agent(ScriptedChatModel([]), checkpointer=saver).invoke({"messages": [("user", "on")]}, thread())
    rows = []
    for file in (where, tmp_path / "copy.db"):
        with closing(sqlite3.connect(file)) as connection:
            rows.append(connection.execute("SELECT * FROM checkpoints").fetchall())
    assert rows[0] == rows[1]


def test_the_command_line_says_it_in_one_line_and_still_lists_threads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = str(stored(tmp_path, "newer"))
    assert main(["show", "t", "--db", where]) == 2
    assert "upgrade it (pip install -U longthread)" in capsys.readouterr().err
    assert main(["threads", "--db", where]) == 0
    assert "schema version" in capsys.readouterr().out
    with open_saver(where) as saver:
        assert list_threads(saver)[0].status == "damaged"


def test_a_new_thread_is_of_todays_version(saver: Any) -> None:
    graph = create_agent(ScriptedChatModel(["Hello."]), checkpointer=saver)
    graph.invoke({"messages": [("user", "hello")]}, thread())
    assert values(graph)["schema_version"] == VERSION
