"""`open_saver` on a SQLite file: where it may lie, and that what was written is there again."""

from pathlib import Path
from typing import Any

import pytest

from agents import Ask, Graph, history, plan, todo
from longthread.graph import ScriptedChatModel, create_agent, open_saver
from longthread.tools.errors import StoreUnusable, ThreadError


def agent(saver: Any) -> Graph:
    return create_agent(ScriptedChatModel([plan(todo()), "One.", "Two."]), checkpointer=saver)


def test_the_file_is_made_with_its_folders(ask: Ask, tmp_path: Path) -> None:
    where = tmp_path / "new" / "folder" / "threads.db"
    saver: Any = open_saver(where)
    ask(agent(saver), "go")
    saver.close()
    assert where.is_file()


def test_memory_is_a_place_too(ask: Ask) -> None:
    saver: Any = open_saver(":memory:")
    graph = agent(saver)
    ask(graph, "go")
    assert [m.content for m in ask(graph, "go on")["messages"]][-1] == "Two."
    saver.close()


def test_what_was_written_is_there_after_the_file_was_closed_and_opened(ask: Ask, tmp_path: Path) -> None:
    first: Any = open_saver(tmp_path / "t.db")
    ask(agent(first), "go")
    before = history(agent(first))
    first.close()
    again: Any = open_saver(str(tmp_path / "t.db"))
    assert history(agent(again)) == before
    again.close()


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "t.db").write_text("a letter, not a database " * 100)
    with pytest.raises(StoreUnusable, match=r"t\.db"):
        open_saver(tmp_path / "t.db")
    assert (tmp_path / "t.db").read_text().startswith("a letter")


@pytest.mark.parametrize("where", ["", "file.txt/t.db"], ids=["a folder", "below a file"])
def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path, where: str) -> None:
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(ThreadError, match="cannot"):
        open_saver(tmp_path / where)
