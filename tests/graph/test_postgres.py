"""Threads in a real Postgres server: many processes, lost connections, and what a user gets wrong."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from langchain_core.tools import BaseTool, tool

import compacting
import longthread.graph.savers.postgres as implementation
from agents import Graph, ask_sync, history, thread
from longthread.graph import StoreUnusable, ThreadBusy, create_agent, open_saver, thread_lock
from longthread.graph.savers import ThreadSaver
from longthread.graph.scripted import ScriptedChatModel, call
from stores import at_once, in_another_process

TURN = """
import sys
from longthread.graph import ScriptedChatModel, create_agent, open_saver, thread_lock
where, name, text = sys.argv[1:]
with open_saver(where) as saver, thread_lock(saver, "t", timeout=30):
    agent = create_agent(ScriptedChatModel([f"{name} to {text}"], prefix=name + text), checkpointer=saver)
    told = agent.invoke({"messages": text}, {"configurable": {"thread_id": "t"}}, durability="sync")
    print(len(told["messages"]))
"""
WITHOUT = """
import sys
sys.modules["psycopg"] = None
from longthread.graph import StoreUnusable, open_saver
try:
    open_saver("postgresql://user:secret@host/db")
except StoreUnusable as error:
    print(error)
"""
END_OURS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'longthread' AND datname = {}"
)


@pytest.fixture
def saver(postgres: str) -> Iterator[ThreadSaver]:
    with open_saver(postgres) as opened:
        yield opened


@pytest.fixture
def database(postgres_server: str) -> str:
    """A database of the test's own, for tests that close it."""
    name = f"test_{uuid4().hex}"
    execute(postgres_server, f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?")


def execute(address: str, *statements: str) -> None:
    with psycopg.connect(address, autocommit=True) as server:
        for statement in statements:
            server.execute(statement.encode())


def cutting(address: str) -> BaseTool:
    """A tool during which the server ends every connection of ours."""

    @tool
    def cut() -> str:
        """Cut."""
        execute(address, END_OURS.format("current_database()"))
        return "cut"

    return cut


def test_processes_take_turns_on_one_thread(postgres: str, saver: ThreadSaver) -> None:
    lengths = [in_another_process(TURN, postgres, name, str(n)).strip() for n, name in enumerate("abab")]
    assert lengths == ["2", "4", "6", "8"]
    expected = [text for n, name in enumerate("abab") for text in (str(n), f"{name} to {n}")]
    assert [m.content for m in history(create_agent(ScriptedChatModel([]), checkpointer=saver))] == expected


def test_processes_that_come_at_once_wait_for_each_other(postgres: str, saver: ThreadSaver) -> None:
    at_once(in_another_process, [(TURN, postgres, name, name) for name in "abc"])
    told = [str(m.content) for m in history(create_agent(ScriptedChatModel([]), checkpointer=saver))]
    assert sorted(told[::2]) == ["a", "b", "c"]
    assert told[1::2] == [f"{name} to {name}" for name in told[::2]]


def test_a_worker_killed_in_one_process_goes_on_in_another(postgres: str, saver: ThreadSaver) -> None:
    killed = subprocess.run([sys.executable, str(Path(compacting.__file__)), postgres], capture_output=True, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    graph, worker = compacting.compacting(saver, compacting.shorten)
    graph.invoke(None, compacting.THREAD, durability="sync")
    state = graph.get_state(compacting.THREAD)
    assert (state.tasks, state.values["compaction"]["outcome"]) == ((), "committed")
    assert len(worker.requests) == 1, "the finished request is not made again"
    assert ask_sync(graph, "go on")["messages"][-1].content == "On."


def test_a_connection_that_is_cut_costs_a_run_nothing(postgres: str, saver: ThreadSaver) -> None:
    graph = create_agent(ScriptedChatModel([call("cut"), "Done."]), [cutting(postgres)], checkpointer=saver)
    assert ask_sync(graph, "cut", durability="sync")["messages"][-1].content == "Done."


def test_a_server_that_is_gone_is_a_clear_error_and_the_thread_goes_on_when_it_is_back(
    database: str, postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = database.split("/")[3].split("?")[0]
    closed: list[int] = []

    @tool
    def close() -> str:
        """Close."""
        if closed:
            return "closed"
        closed.append(1)
        execute(postgres_server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        execute(postgres_server, END_OURS.format(f"'{name}'"))
        return "closed"

    monkeypatch.setattr(implementation, "WAIT_SECONDS", 0.5)
    with open_saver(database) as saver:
        graph = create_agent(ScriptedChatModel([call("close"), "Done."]), [close], checkpointer=saver)
        with pytest.raises(StoreUnusable, match="then resume the thread"):
            ask_sync(graph, "close", durability="sync")
        execute(postgres_server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert graph.get_state(thread()).next == ("execute_tools",)
        assert ask_sync(graph, None)["messages"][-1].content == "Done."


def test_several_may_make_the_tables_at_once(postgres: str) -> None:
    failed: list[Exception] = []

    def work() -> None:
        try:
            open_saver(postgres).close()
        except StoreUnusable as error:
            failed.append(error)

    at_once(work, 4 * [()])
    assert failed == []


def test_a_thread_of_the_same_name_in_another_schema_is_another_thread(postgres: str, postgres_server: str) -> None:
    execute(postgres_server, schema := f"CREATE SCHEMA other_{uuid4().hex}")
    other = postgres_server + "&options=-csearch_path%3D" + schema.split()[-1]
    with open_saver(postgres) as one, open_saver(other) as two, thread_lock(one, "t"), thread_lock(two, "t", timeout=0):
        pass


def test_a_lock_ends_with_its_connection(postgres: str, saver: ThreadSaver) -> None:
    with thread_lock(saver, "t"):
        with pytest.raises(ThreadBusy), thread_lock(saver, "t", timeout=0):
            pytest.fail("two owners at once")
        cutting(postgres).invoke({})
        with thread_lock(saver, "t", timeout=5):
            pass


def test_without_the_extra_the_error_says_how_to_install_it() -> None:
    said = in_another_process(WITHOUT)
    assert "pip install 'longthread[postgres]'" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("postgresql://user:s3cret@127.0.0.1:1/db", "Connection refused"),
        ("postgresql://user:s3cret@no-such-host.invalid/db", "no-such-host.invalid"),
        ("postgresql://user:s3cret/rest@127.0.0.1/db", "percent-encoded"),
        ("postgresql://user:1234/s3cret@127.0.0.1/db", "percent-encoded"),
        ("postgresql://user:a@s3cret@127.0.0.1/db", "percent-encoded"),
        ("postgresql://127.0.0.1:1/db?password=s3cret", "Connection refused"),
        ("postgresql://127.0.0.1:1/db?no_such_option=s3cret", "cannot be read"),
    ],
)
def test_an_address_that_leads_nowhere_is_a_clear_error_without_the_password(address: str, says: str) -> None:
    with pytest.raises(StoreUnusable, match=says) as caught:
        open_saver(address)
    chain: BaseException | None = caught.value
    while chain is not None:
        assert "s3cret" not in str(chain)
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)


def test_a_database_that_is_not_there_is_a_clear_error(postgres_server: str) -> None:
    with pytest.raises(StoreUnusable, match=r"no_such_database.*does not exist; check that the server runs"):
        open_saver(postgres_server.replace("/postgres?", "/no_such_database?"))


@pytest.fixture
def guest(postgres_server: str) -> Iterator[str]:
    """The address of a user who must give a password, `right`, and may make nothing in his schema."""
    name = f"guest_{uuid4().hex[:8]}"
    with psycopg.connect(postgres_server, autocommit=True) as server:
        row = server.execute("SHOW hba_file").fetchone()
        assert row
        rules = Path(row[0])
        before = rules.read_text()
        rules.write_text(f"local all {name} scram-sha-256\n{before}")
        server.execute(b"SELECT pg_reload_conf()")
        server.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'right'".encode())
        server.execute(f"CREATE SCHEMA {name}".encode())
        server.execute(f"GRANT USAGE ON SCHEMA {name} TO {name}".encode())
        yield postgres_server.replace("postgres:@", f"{name}:right@") + f"&options=-csearch_path%3D{name}"
        rules.write_text(before)
        server.execute(b"SELECT pg_reload_conf()")


def test_a_wrong_password_is_a_clear_error_that_does_not_show_it(guest: str) -> None:
    with pytest.raises(StoreUnusable, match="password authentication failed") as caught:
        open_saver(guest.replace(":right@", ":wr0ng@"))
    assert "wr0ng" not in f"{caught.value}{caught.value.__cause__}"


def test_a_user_without_the_right_to_make_tables_can_use_those_that_are_there(guest: str, postgres_server: str) -> None:
    with pytest.raises(StoreUnusable, match=r"permission denied for schema .*; check the database and the rights"):
        open_saver(guest)
    schema = guest.rsplit("%3D", 1)[1]
    open_saver(f"{postgres_server}&options=-csearch_path%3D{schema}").close()
    execute(postgres_server, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {schema}")
    with open_saver(guest) as saver:
        graph: Graph = create_agent(ScriptedChatModel(["Done."]), checkpointer=saver)
        assert ask_sync(graph, "1")["messages"][-1].content == "Done."
