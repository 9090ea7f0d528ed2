"""A run that was cut off, in whichever way, goes on where it was."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Process, greeter, options, ran, start, wait_for, workspace_in
from longthread.graph.cli.main import main
from longthread.graph.cli.views import JsonView
from longthread.graph.savers import open_saver
from longthread.graph.threads import describe
from openai_server import OpenAIServer, Reply

KEPT = ("type", "content", "tool_calls", "status", "name")


@pytest.fixture
def server(openai_server: OpenAIServer, tmp_path: Path) -> OpenAIServer:
    workspace_in(tmp_path)
    openai_server.answer_by(greeter)
    return openai_server


def conversation(folder: Path) -> list[dict[str, Any]]:
    """What the thread holds, without ids and token counts."""
    with open_saver(folder / "threads.db") as saver:
        found = describe(saver, "t")
    assert found.info.status == "done"
    dumped = [message.model_dump(include=set(KEPT)) for message in found.messages]
    return [{**each, "tool_calls": [(c["name"], c["args"]) for c in each.get("tool_calls", [])]} for each in dumped]


def slow(body: dict[str, Any]) -> Reply:
    """The greeter, who takes his time in the third answer and never ends the fourth."""
    answers = sum(message["role"] == "assistant" for message in body["messages"])
    return Reply("x", silent=True) if answers == 2 else greeter(body)


def held(server: OpenAIServer, folder: Path) -> Process:
    """A run that waits for an answer which does not come, after one step that is saved."""
    server.answer_by(slow)
    process = start(["run", "greet", "--thread", "t", *options(server, folder)])
    wait_for(process, "ok read greeting.txt")
    deadline = time.monotonic() + 20
    while len(server.requests) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    server.answer_by(greeter)
    return process


def resumed(folder: Path) -> str:
    done = ran(["resume", "t", "--db", str(folder / "threads.db")])
    assert done.code == 0, done.err
    assert (folder / "workspace" / "greeting.txt").read_text() == "good morning\n"
    return done.out


def test_ctrl_c_stops_at_once_and_says_how_to_go_on(server: OpenAIServer, tmp_path: Path) -> None:
    process = held(server, tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert err.startswith(
        "longthread: interrupted. Everything up to here is saved; go on with: longthread resume t --db"
    )
    assert err.count("\n") == 1
    assert "~ greeting.txt" not in out
    assert "resuming thread t" in resumed(tmp_path)


def test_sigterm_ends_at_the_next_step_boundary(server: OpenAIServer, tmp_path: Path) -> None:
    server.answer_by(lambda body: Reply(greeter(body).text, greeter(body).calls, delay=0.05))
    process = start(["run", "greet", "--thread", "t", *options(server, tmp_path)])
    wait_for(process, "todo list, 1 of 2 done")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 143
    assert err.startswith("longthread: ended by SIGTERM. Everything up to here is saved; go on with: ")
    requests = len(server.requests)
    resumed(tmp_path)
    assert len(server.requests) == 5, f"no request was made twice; {requests} before the signal took effect"


def test_a_second_sigterm_does_not_wait_for_the_boundary(server: OpenAIServer, tmp_path: Path) -> None:
    process = held(server, tmp_path)
    process.send_signal(signal.SIGTERM)
    wait_for(process, "the run ends at the next step; a second signal ends it at once")
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 143
    resumed(tmp_path)


def test_a_killed_run_goes_on_without_asking_again_for_what_is_saved(server: OpenAIServer, tmp_path: Path) -> None:
    process = held(server, tmp_path)
    process.kill()
    process.communicate(timeout=10)
    shown = ran(["show", "t", "--db", str(tmp_path / "threads.db")]).out
    assert "go on with: longthread resume t" in shown
    resumed(tmp_path)
    assert len(server.requests) == 3 + 3


def test_a_killed_run_is_compacted_and_then_resumed(server: OpenAIServer, tmp_path: Path) -> None:
    server.answer_by(lambda body: Reply("x", silent=True))
    process = start(["run", "greet", "--thread", "t", *options(server, tmp_path)])
    while not server.requests:
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=10)
    server.answer_by(greeter)
    out = ran(["compact", "t", "--db", str(tmp_path / "threads.db")]).out
    assert out.endswith("the unfinished turn of this thread stays open; go on with: longthread resume t\n")
    resumed(tmp_path)
    assert conversation(tmp_path)[0]["content"] == "greet"


def test_a_command_cut_off_before_a_compaction_is_named_when_it_runs_again(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "echo ran >> log; test $(wc -l < log) -gt 1 || kill -9 $PPID"
    calls = Reply("", calls=(("run_command", {"command": command}),))
    server.answer_by(lambda body: calls if body["messages"][-1]["role"] == "user" else Reply("Ran."))
    done = ran(["run", "go", "--thread", "t", "--allow-commands", "always", *options(server, tmp_path)])
    assert done.code == -signal.SIGKILL
    where = ["t", "--db", str(tmp_path / "threads.db")]
    assert main(["compact", *where]) == 0
    assert main(["resume", *where, "--allow-commands", "always"]) == 0
    assert "run, again if they had begun before the interruption: run_command\n" in capsys.readouterr().out
    assert (tmp_path / "workspace" / "log").read_text() == "ran\nran\n"


def test_a_finished_thread_has_nothing_to_resume_and_needs_no_key(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "greet", "--thread", "t", *options(server, tmp_path)]) == 0
    capsys.readouterr()
    assert main(["resume", "t", "--db", str(tmp_path / "threads.db"), "--model", "openai:other"]) == 0
    assert capsys.readouterr().out.startswith("nothing to resume: the last turn of this thread has its answer.")


def test_a_new_message_over_an_unfinished_run_says_so(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = ["--thread", "t", *options(server, tmp_path)]
    assert main(["run", "greet", "--max-requests", "3", *again]) == 2
    capsys.readouterr()
    assert main(["run", "never mind", *again]) == 0
    assert capsys.readouterr().out.startswith("an unfinished run stood here")
    assert server.faults == []


def test_a_run_whose_reader_goes_away_is_silent_and_saved(server: OpenAIServer, tmp_path: Path) -> None:
    process = start(["run", "greet", "--thread", "t", "--json", *options(server, tmp_path)])
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "run_start"
    process.stdout.close()
    assert process.wait(timeout=20) == 141
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    resumed(tmp_path)


@pytest.mark.slow
def test_two_runs_at_once_on_one_thread_do_not_mix(server: OpenAIServer, tmp_path: Path) -> None:
    process = held(server, tmp_path)
    second = ran(["run", "me too", "--thread", "t", *options(server, tmp_path)])
    process.kill()
    process.communicate(timeout=10)
    assert second.code == 2
    assert "'t'" in second.err
    assert second.err.count("\n") == 1
    resumed(tmp_path)


class Interrupting:
    """Presses Ctrl-C when the event of a number is shown."""

    def __init__(self, at: int) -> None:
        self.at = at

    def patched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        show, left = JsonView.show, iter(range(self.at))

        def counting(view: JsonView, event: dict[str, Any]) -> None:
            show(view, event)
            if next(left, None) is None and event["event"] not in ("changes", "run_end", "error"):
                raise KeyboardInterrupt

        monkeypatch.setattr(JsonView, "show", counting)


@pytest.fixture
def undisturbed(server: OpenAIServer, tmp_path: Path) -> list[dict[str, Any]]:
    assert main(["run", "greet", "--thread", "t", "--json", *options(server, tmp_path)]) == 0
    return conversation(tmp_path)


@pytest.mark.parametrize("at", range(0, 50, 10))
def test_a_run_interrupted_at_every_tenth_event_comes_to_the_same_end(
    at: int, undisturbed: list[dict[str, Any]], server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "threads.db").unlink()
    (tmp_path / "workspace" / "greeting.txt").write_text("hello\n")
    with monkeypatch.context() as patch:
        Interrupting(at).patched(patch)
        code = main(["run", "greet", "--thread", "t", "--json", *options(server, tmp_path)])
    assert code == 130
    if at:  # At 0 nothing was stored yet: there is no thread.
        assert main(["resume", "t", "--json", "--db", str(tmp_path / "threads.db")]) == 0
        assert conversation(tmp_path) == undisturbed
    assert server.faults == []
