"""Bytes that are no text: cleaned where they come in, or named in one line."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_runs import COMMAND, environment, options, workspace_in
from longthread.graph.cli.main import main
from longthread.graph.savers import open_saver
from longthread.graph.threads import describe
from openai_server import OpenAIServer


@pytest.fixture
def where(openai_server: OpenAIServer, tmp_path: Path) -> list[str]:
    """Options of a run."""
    workspace_in(tmp_path)
    return options(openai_server, tmp_path)


def said(server: OpenAIServer) -> list[Any]:
    """What the user said, as the server got it."""
    return [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "user"]


def test_a_task_that_is_no_utf_8_is_sent_and_stored_with_a_mark_in_its_place(
    openai_server: OpenAIServer, where: list[str], tmp_path: Path
) -> None:
    openai_server.answer("Coffee.")
    assert main(["run", "caf\udce9", "--thread", "t\udce9", *where]) == 0
    assert said(openai_server) == ["caf\ufffd"]
    with open_saver(tmp_path / "threads.db") as saver:
        assert describe(saver, "t\ufffd").messages[0].content == "caf\ufffd"
    assert main(["show", "t\udce9", "--db", str(tmp_path / "threads.db")]) == 0


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@pytest.mark.parametrize("command", [["run", "-"], ["chat"]])
def test_input_that_is_no_utf_8_is_read(
    command: list[str], locale: str, openai_server: OpenAIServer, where: list[str]
) -> None:
    openai_server.answer("Read.")
    surroundings = environment(LC_ALL=locale, PYTHONIOENCODING="utf-8")
    done = subprocess.run(
        [*COMMAND, *command, *where],
        input=b"bad \xe9\n",
        capture_output=True,
        env=surroundings,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert said(openai_server)[0].strip() == "bad \ufffd"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_folder_whose_name_is_no_utf_8_is_refused_also_when_it_is_the_current_one(
    openai_server: OpenAIServer, where: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    (tmp_path / "caf\udce9").mkdir()
    monkeypatch.chdir(tmp_path / "caf\udce9")
    assert main(["run", "x", *where[2:]]) == 2
    assert capfd.readouterr().err.endswith("has a name that is not UTF-8; rename it, or choose another\n")
    assert openai_server.requests == []


def test_instructions_that_are_no_utf_8_reach_the_worker(
    openai_server: OpenAIServer, where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    openai_server.answer("Done.")
    assert main(["run", "x", "--thread", "t", *where]) == 0
    capsys.readouterr()
    main(["compact", "t", "heed \udce9", "--db", str(tmp_path / "threads.db")])
    assert "unforeseen" not in capsys.readouterr().err
