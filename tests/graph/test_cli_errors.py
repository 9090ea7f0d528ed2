"""What has to be put right first is said in one line, with exit code 2 and no traceback."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from langgraph.errors import GraphRecursionError

from cli_runs import greeter, options, ran, workspace_in
from longthread.graph.cli.faults import Circumstances, explained
from longthread.graph.cli.main import main
from openai_server import OpenAIServer, Refusal, Reply

SERVER = ["--base-url", "http://127.0.0.1:9/v1", "--model", "m"]


def failed(args: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a command ended with."""
    assert main(args) == 2
    said = capsys.readouterr().err
    assert said.startswith("longthread: ")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    return said


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "x"], "needs OPENAI_API_KEY"),
        (["run", "x", "--model", "nobody:knows"], "'nobody:knows'"),
        (["run", "x", "--model", "openai:"], "has no name"),
        (["run", "x", "--base-url", "localhost"], "--base-url 'localhost' is no address"),
        (["run", "x", "--base-url", "http://[", *SERVER[2:]], "is no address"),
        (["run", "x", *SERVER, "--workspace", "nowhere"], "is not a folder"),
        (["run", "x", *SERVER, "--settings", "none.toml"], "none.toml' cannot be read"),
        (["run", "x", *SERVER, "--context-window", "100"], "at least 4000"),
        (["run", "x", *SERVER, "--context-window", "many"], "'many' is no whole number above 0"),
        (["run", "x", *SERVER, "--max-requests", "0"], "'0' is no whole number above 0"),
        (["run", "x", *SERVER, "--thread", "a\nb"], "thread name 'a\\nb' cannot be used"),
        (["run", "x", *SERVER, "--db", "."], "cannot be used as a thread store: it is a folder; name a file in it"),
        (["run", "x", *SERVER, "--workspace", "caf\udce9"], "has a name that is not UTF-8"),
        (["run", "x", *SERVER, "--settings", "caf\udce9.toml"], "has a name that is not UTF-8"),
        (["threads", "--db", "caf\udce9.db"], "has a name that is not UTF-8"),
        (["run", " ", *SERVER], "the task is empty"),
        (["run"], "see `longthread run --help`"),
        (["sing"], "invalid choice: 'sing'"),
        (["show", "nobody"], "there are no threads yet"),
        (["resume", "nobody"], "there are no threads yet"),
        (["compact", "nobody"], "there are no threads yet"),
        (["demo", "--keep", "."], "name a new or empty folder"),
    ],
)
def test_a_command_that_cannot_work_says_why(
    args: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "something").touch()
    assert says in failed(args, capsys)


def test_settings_that_cannot_work_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "s.toml").write_text("[compaction]\nretained = 5\n")
    assert "compaction.retained" in failed(["run", "x", *SERVER, "--settings", "s.toml"], capsys)
    (here / "s.toml").write_text("[compaction]\ncompact_threshold = 500\n")
    assert "is not below the smallest threshold 500" in failed(["run", "x", *SERVER, "--settings", "s.toml"], capsys)


@pytest.mark.parametrize("command", [["threads"], ["show", "t"], ["resume", "t"], ["run", "x", *SERVER]])
def test_a_file_that_is_no_database_is_named(
    command: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "notes.txt").write_text("these are not threads\n" * 50)
    assert "'notes.txt' cannot be used as a thread store" in failed([*command, "--db", "notes.txt"], capsys)


def test_a_damaged_thread_is_named_and_does_not_hide_the_others(
    openai_server: OpenAIServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace_in(here)
    openai_server.answer_by(greeter)
    for name in ("bad", "good"):
        assert main(["run", "greet", "--thread", name, *options(openai_server, here)]) == 0
    with sqlite3.connect(here / "threads.db") as connection:
        connection.execute("UPDATE checkpoints SET checkpoint = x'c1ffee' WHERE thread_id = 'bad'")
    connection.close()
    capsys.readouterr()
    said = failed(["show", "bad", "--db", "threads.db"], capsys)
    assert "thread 'bad' cannot be read" in said
    assert "longthread delete" in said
    assert "Error" not in said
    assert main(["threads", "--db", "threads.db"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:2] for row in rows[1:]] == [["good", "done"], ["bad", "damaged"]]
    assert main(["delete", "bad", "--yes", "--db", "threads.db"]) == 0
    assert main(["threads", "--db", "threads.db"]) == 0
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()[2:]] == ["good"]


def test_an_unknown_thread_is_met_with_those_spelled_like_it(
    openai_server: OpenAIServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace_in(here)
    openai_server.answer_by(greeter)
    assert main(["run", "greet", "--thread", "greetings", *options(openai_server, here)]) == 0
    capsys.readouterr()
    assert "did you mean 'greetings'?" in failed(["show", "greeting", "--db", "threads.db"], capsys)


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        (Refusal(401, "Incorrect API key provided."), "refused the key"),
        (Refusal(404, "The model `m` does not exist."), "does not know 'openai:test'"),
        (Refusal(400, "Unknown parameter."), "refused the request"),
    ],
)
def test_what_a_server_refuses_is_passed_on(
    refusal: Refusal, says: str, openai_server: OpenAIServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace_in(here)
    openai_server.answer(refusal)
    said = failed(["run", "x", "--thread", "t", *options(openai_server, here)], capsys)
    assert says in said
    assert refusal.message in said
    assert "go on with: longthread resume t --db" in said


@pytest.mark.parametrize("refusal", [Refusal(404, "The model `m` does not exist."), Refusal(400, "Model m not found")])
def test_where_the_model_is_wrong_the_way_on_names_another(
    refusal: Refusal, openai_server: OpenAIServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace_in(here)
    openai_server.answer(refusal, "Done.")
    said = failed(["run", "x", "--thread", "t", *options(openai_server, here)], capsys)
    assert said.endswith(" --model NAME\n")
    assert main(["resume", "t", "--db", "threads.db", "--model", "better"]) == 0
    assert openai_server.requests[-1]["model"] == "better"


@pytest.mark.parametrize(
    ("model", "said"),
    [("openai:m", "set OPENAI_API_KEY to a valid one"), ("groq:m", "set a valid key for 'groq'")],
)
def test_a_refused_key_names_the_variable_of_its_own_provider(model: str, said: str) -> None:
    class Refused(Exception):
        status_code = 401

    assert said in explained(Refused("no such key"), Circumstances(model))[0]


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_an_address_of_the_environment_is_looked_at_before_a_thread_is_made(
    name: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "nonsense")
    assert f"{name} 'nonsense' is no address" in failed(["run", "x", "--db", "threads.db"], capsys)
    assert main(["threads", "--db", "threads.db"]) == 0
    assert "no threads yet" in capsys.readouterr().out


def test_the_limit_of_steps_takes_one_line_with_the_way_on() -> None:
    said, code = explained(GraphRecursionError("Recursion limit of 25 reached"), Circumstances(resume="longthread r"))
    assert code == 2
    assert said.startswith("stopped at the limit of steps for one run")
    assert said.endswith("go on with: longthread r")


@pytest.mark.slow
def test_a_server_that_is_not_there_is_named_and_the_task_kept(
    openai_server: OpenAIServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace_in(here)
    openai_server.answer_by(greeter)
    gone = ["--workspace", "workspace", "--db", "threads.db", *SERVER]
    said = failed(["run", "greet", "--thread", "t", *gone], capsys)
    assert "at http://127.0.0.1:9/v1 cannot be reached" in said
    assert "go on with: longthread resume t --db threads.db" in said
    assert main(["resume", "t", "--db", "threads.db", "--base-url", openai_server.base_url]) == 0
    assert (here / "workspace" / "greeting.txt").read_text() == "good morning\n"


def test_a_stream_that_breaks_is_asked_for_again_and_said(
    openai_server: OpenAIServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace_in(here)
    openai_server.answer(Reply("I begin and then I", cut_after=4), "I begin, and here it ends.")
    assert main(["run", "greet", *options(openai_server, here)]) == 0
    out = capsys.readouterr().out
    assert "I begin and \n  failed the model did not answer: " in out
    assert "I begin, and here it ends.\n" in out


def test_a_fault_that_was_not_foreseen_takes_one_line_too(here: Path) -> None:
    broken = (
        "import sys, longthread.graph.cli.main as m; m.COMMANDS['threads'] = 'nowhere'; sys.exit(m.main(['threads']))"
    )
    plain, debugged = ran(["-c", broken], module=False), ran(["-c", broken], module=False, LONGTHREAD_DEBUG="1")
    assert plain.code == debugged.code == 1
    assert plain.err.startswith("longthread: unforeseen ModuleNotFoundError: ")
    assert plain.err.count("\n") == 1
    assert "LONGTHREAD_DEBUG=1 shows where" in plain.err
    assert "Traceback" in debugged.err


@pytest.mark.filterwarnings("default")
def test_a_warning_takes_one_line(openai_server: OpenAIServer, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace_in(here)
    openai_server.answer("Done.")
    limits = "compact_threshold = 60000\ncompact_request_threshold = 50000"
    (here / "s.toml").write_text(f"[compaction]\n{limits}\n")
    assert main(["run", "x", "--settings", "s.toml", *options(openai_server, here)]) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("longthread: warning: compact_threshold=60000 is above compact_request_threshold=50000")
