"""`longthread run`, in this process, against a stand-in server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_runs import greeter, options, workspace_in
from longthread.graph.cli.main import main
from openai_server import OpenAIServer, Reply

Run = Callable[..., str]


@pytest.fixture
def run(openai_server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the workspace; what it printed."""
    workspace_in(tmp_path)
    openai_server.answer_by(greeter)

    def command(*args: str, code: int = 0) -> str:
        assert main([args[0], *options(openai_server, tmp_path), *args[1:]]) == code, capsys.readouterr().err
        return capsys.readouterr().out

    return command


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_a_run_changes_the_file_and_says_so(run: Run, tmp_path: Path) -> None:
    out = run("run", "greet politely")
    assert (tmp_path / "workspace" / "greeting.txt").read_text() == "good morning\n"
    assert "ok edited greeting.txt (+1 -1)" in out
    assert out.index("changed on disk") < out.index("~ greeting.txt  +1 -1")


def test_a_run_shows_the_answer_the_todo_list_and_the_bar(run: Run) -> None:
    out = run("run", "greet politely", "--context-window", "8000")
    assert "I make a plan.\n" in out
    assert "todo list, 1 of 2 done\n    [x] read the greeting\n    [~] change the greeting\n" in out
    assert "todo list, 2 of 2 done" in out
    assert "|---] " in out
    assert "tokens (measured), compacts at 6,000 | 7,200" in out


def test_nothing_but_plain_lines_reaches_a_pipe(run: Run) -> None:
    out = run("run", "greet politely")
    assert out.isascii()
    assert "\x1b" not in out
    assert "\r" not in out


def test_a_new_thread_is_named_after_its_task_and_continued_by_its_name(run: Run, openai_server: OpenAIServer) -> None:
    name = run("run", "Greet, politely!").splitlines()[0].removeprefix("thread ")
    assert name.startswith("greet-politely-")
    run("run", "and once more", "--thread", name)
    users = [message["content"] for message in openai_server.requests[-1]["messages"] if message["role"] == "user"]
    assert users == ["Greet, politely!", "and once more"]


def test_a_task_can_come_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "task.md").write_text("greet from a file")
    with (tmp_path / "task.md").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert "thread greet-from-a-file-" in run("run", "-")


def test_json_gives_one_event_a_line_in_the_documented_shapes(run: Run) -> None:
    found = events(run("run", "greet politely", "--json"))
    kinds = [event["event"] for event in found]
    assert kinds[0] == "run_start"
    assert kinds[-2:] == ["changes", "run_end"]
    assert {"token", "answer", "tool_call", "tool_result", "todos", "occupancy"} <= set(kinds)
    assert "".join(event["text"] for event in found if event["event"] == "token").startswith("I make a plan.")
    [changes] = [event["files"] for event in found if event["event"] == "changes"]
    assert changes == [{"path": "greeting.txt", "change": "modified", "added": 1, "removed": 1}]


def test_every_event_that_a_run_sends_is_documented(run: Run) -> None:
    documented = str(__import__("longthread.graph.cli.events", fromlist=["x"]).__doc__)
    kinds = {event["event"] for event in events(run("run", "greet politely", "--json"))}
    assert {kind for kind in kinds if f"`{kind}`" not in documented} == set()


def test_what_models_and_files_say_moves_no_cursor(run: Run, openai_server: OpenAIServer) -> None:
    openai_server.answer("\x1b]0;title\x07red: \x1b[31malarm\x1b[0m\x9b2J\x08\x07 \u202eabc [bold]not markup[/bold]")
    out = run("run", "greet")
    assert "red: " in out
    assert "alarm" in out
    assert "[bold]not markup[/bold]" in out
    assert not {"\x1b", "\x07", "\x08", "\x9b", "\u202e"} & set(out)


def test_commands_are_refused_where_nobody_can_be_asked(run: Run, openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.answer(Reply("", calls=(("run_command", {"command": "touch made"}),)), "Then not.")
    out = run("run", "make a file")
    assert "--allow-commands always runs them unasked" in out
    assert "Then not." in out
    assert not (tmp_path / "workspace" / "made").exists()


def test_commands_run_unasked_when_that_is_said_and_their_files_are_reported(
    run: Run, openai_server: OpenAIServer
) -> None:
    openai_server.answer(Reply("", calls=(("run_command", {"command": "echo 1 > made; rm greeting.txt"}),)), "Done.")
    out = run("run", "make a file", "--allow-commands", "always")
    assert "ok ran `echo 1 > made; rm greeting.txt`: exit code 0" in out
    assert "  - greeting.txt\n  + made  +1 -0\n" in out


def test_without_commands_the_model_is_not_offered_any(run: Run, openai_server: OpenAIServer) -> None:
    run("run", "greet", "--allow-commands", "never", "--thread", "t")
    run("run", "again", "--thread", "t")
    offered = [{tool["function"]["name"] for tool in request["tools"]} for request in openai_server.requests]
    assert not any("run_command" in names for names in offered), "a restriction is remembered"


def test_the_limit_of_requests_ends_a_run_that_resume_goes_on_with(
    run: Run, tmp_path: Path, openai_server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "greet", "--thread", "t", "--max-requests", "2", *options(openai_server, tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "stopped after 2 requests" in said
    assert "longthread resume t --db" in said
    assert main(["resume", "t", "--db", str(tmp_path / "threads.db")]) == 0
    assert (tmp_path / "workspace" / "greeting.txt").read_text() == "good morning\n"


def test_the_thread_remembers_workspace_model_and_window_but_no_secret(
    run: Run, openai_server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = openai_server.base_url.replace("http://", "http://me:hunter2@")
    run("run", "greet", "--thread", "t", "--context-window", "8000")
    again = ["run", "more", "--thread", "t", "--db", str(tmp_path / "threads.db")]
    assert main([*again, "--base-url", address]) == 0
    assert main([*again]) == 0
    assert f"in {tmp_path / 'workspace'}" in capsys.readouterr().out
    assert openai_server.requests[-1]["model"] == "test"
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("threads.db*"))
    assert b"hunter" not in stored


def test_a_bare_name_beside_an_address_is_a_model_of_that_server(run: Run, openai_server: OpenAIServer) -> None:
    run("run", "greet", "--model", "qwen3:8b")
    run("run", "greet", "--model", "openai:other")
    assert [request["model"] for request in openai_server.requests] == ["qwen3:8b"] * 5 + ["other"] * 5
