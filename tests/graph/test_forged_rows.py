"""Whoever can write into the database cannot run code in the process that reads it."""

import contextlib
import json
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ormsgpack
import psycopg
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agents import ask_sync, thread
from longthread.graph import StoreUnusable, create_agent, open_saver
from longthread.graph.scripted import ScriptedChatModel

Row = tuple[str, bytes]
Plant = Callable[[Row], None]
SQLITE = ("UPDATE writes SET type = ?, value = ?", "UPDATE checkpoints SET type = ?, checkpoint = ?")
POSTGRES = (
    "UPDATE checkpoint_writes SET type = %s, blob = %s",
    "UPDATE checkpoint_blobs SET type = %s, blob = %s",
)


class Opens:
    """Pickled: makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, (str(self.path), "w")


def extension(code: int, *fields: object) -> Row:
    return "msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(fields)))


def forged(marker: Path) -> dict[str, Row]:
    """Every way that LangGraph knows to name a callable in a row; each makes the file `marker`."""
    path, arguments = str(marker), (str(marker), "w")
    constructor = {"lc": 2, "type": "constructor", "id": ["builtins", "open"], "args": list(arguments)}
    return {
        "one argument": extension(0, "os", "mkdir", path),
        "arguments": extension(1, "builtins", "open", arguments),
        "keywords": extension(2, "builtins", "open", {"file": path, "mode": "w"}),
        "method": extension(3, "pathlib", "Path", path, "touch"),
        "pydantic 1": extension(4, "builtins", "open", {"file": path, "mode": "w"}),
        "pydantic 2": extension(5, "builtins", "open", {"file": path, "mode": "w"}, "model_validate_json"),
        "pickle": ("pickle", pickle.dumps(Opens(marker))),
        "json": ("json", json.dumps(constructor).encode()),
    }


KINDS = list(forged(Path("x")))


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.getfixturevalue("postgres") if request.param == "postgres" else tmp_path / "threads.db")


def plant(where: str, row: Row, part: int) -> None:
    if where.startswith("postgresql:"):
        with psycopg.connect(where) as server:
            server.execute(POSTGRES[part].encode(), row)
        return
    with contextlib.closing(sqlite3.connect(where)) as file, file:
        file.execute(SQLITE[part], row)


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_row_runs_no_code(where: str, tmp_path: Path, kind: str, part: int) -> None:
    marker = tmp_path / "made by the row"
    with open_saver(where) as saver:
        graph = create_agent(ScriptedChatModel(["one", "two"]), checkpointer=saver)
        ask_sync(graph, "1")
        plant(where, forged(marker)[kind], part)
        # What comes back is not the point: data of another kind, or any error.
        for use in (graph.get_state, saver.get_tuple, lambda config: ask_sync(graph, "2", config)):
            with contextlib.suppress(Exception):
                use(thread())
    assert not marker.exists()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "method"])
def test_each_of_these_rows_does_run_code_where_it_is_let(tmp_path: Path, kind: str) -> None:
    marker = tmp_path / "made by the row"
    lax = JsonPlusSerializer(pickle_fallback=True, allowed_json_modules=True, allowed_msgpack_modules=True)
    with contextlib.suppress(Exception):
        opened = lax.loads_typed(forged(marker)[kind])
        opened.close()
    assert marker.exists()


@pytest.mark.parametrize("kind", ["pickle", "json"])
def test_a_kind_that_we_never_write_is_named_in_the_error(where: str, tmp_path: Path, kind: str) -> None:
    with open_saver(where) as saver:
        graph = create_agent(ScriptedChatModel(["one"]), checkpointer=saver)
        ask_sync(graph, "1")
        plant(where, forged(tmp_path / "x")[kind], 0)
        with pytest.raises(StoreUnusable, match=f"kind '{kind}', which may run code and is never loaded"):
            graph.get_state(thread())


def test_damaged_bytes_are_an_error_that_names_the_store(where: str) -> None:
    with open_saver(where) as saver:
        graph = create_agent(ScriptedChatModel(["one"]), checkpointer=saver)
        ask_sync(graph, "1")
        plant(where, ("msgpack", b"\xc1\xff"), 0)
        with pytest.raises(StoreUnusable, match=r"holds a value that cannot be read: its bytes are damaged"):
            graph.get_state(thread())
