"""Answers that do not say everything, and what goes on meanwhile, are told."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from rich.console import Console

from cli_runs import options, workspace_in
from longthread.graph.cli.approval import NOBODY
from longthread.graph.cli.endings import ending_of
from longthread.graph.cli.live import THINKING, LiveView
from longthread.graph.cli.main import main
from longthread.graph.cli.printable import counted
from openai_server import OpenAIServer, Reply

CALL = {"event": "tool_call", "id": "1", "name": "run_command", "args": {"command": "make"}}
APPROVED = {
    "event": "approval",
    "name": "run_command",
    "args": {"command": "make"},
    "decision": "approve",
    "reason": "",
}
DONE = {"event": "tool_result", "id": "1", "name": "run_command", "ok": True, "summary": "ran"}


@pytest.mark.parametrize(
    ("reply", "ending", "line"),
    [
        (Reply(""), "empty", "the model answered nothing"),
        (Reply("I beg", finish_reason="length"), "cut_off", "the model's answer was cut off by its output limit"),
        (Reply("", finish_reason="content_filter"), "withheld", "was withheld by a content filter"),
        (Reply("All."), None, "All."),
    ],
)
def test_an_answer_that_does_not_say_everything_is_told(
    reply: Reply,
    ending: str | None,
    line: str,
    openai_server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    workspace_in(tmp_path)
    openai_server.answer_by(lambda body: reply)
    assert main(["run", "x", *options(openai_server, tmp_path)]) == 0
    assert line in capsys.readouterr().out
    assert main(["run", "x", "--json", *options(openai_server, tmp_path)]) == 0
    found = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
    assert [event["ending"] for event in found if event["event"] == "answer"][-1] == ending


@pytest.mark.parametrize(
    ("metadata", "ending"),
    [
        ({"stop_reason": "max_tokens"}, "cut_off"),
        ({"finish_reason": "MAX_TOKENS"}, "cut_off"),
        ({"finish_reason": "SAFETY"}, "withheld"),
        ({"stop_reason": "refusal"}, "withheld"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "cut_off"),
        ({"stop_reason": "end_turn"}, None),
    ],
)
def test_providers_have_other_names_for_it(metadata: dict[str, Any], ending: str | None) -> None:
    assert ending_of(AIMessage("text", response_metadata=metadata)) == ending


def doing(*events: dict[str, Any]) -> str:
    """What the bottom line says after these events."""
    console = Console(file=StringIO(), force_terminal=True, width=100, color_system=None)
    view = LiveView(console)
    for event in events:
        view.show(event)
    with console.capture() as shown:
        console.print(view)
    return shown.get()


def test_the_bottom_line_names_the_command_that_runs_after_its_approval() -> None:
    assert "run_command make" in doing(CALL, APPROVED)
    assert "run_command make" in doing(APPROVED)
    assert THINKING in doing(CALL, APPROVED, DONE)


def test_the_bottom_line_names_a_call_that_runs_longer_than_another() -> None:
    other = {**CALL, "id": "2", "args": {"command": "test"}}
    assert "run_command test" in doing(CALL, other, DONE)
    assert THINKING in doing(CALL, other, DONE, {**DONE, "id": "2"})


def test_the_model_is_told_that_nobody_could_be_asked(openai_server: OpenAIServer, tmp_path: Path) -> None:
    workspace_in(tmp_path)
    openai_server.answer(Reply("", calls=(("run_command", {"command": "touch made"}),)), "Then not.")
    assert main(["run", "make it", *options(openai_server, tmp_path)]) == 0
    [result] = [message for message in openai_server.requests[-1]["messages"] if message["role"] == "tool"]
    assert NOBODY in result["content"]
    assert "nobody could be asked" in NOBODY


def test_one_is_no_plural() -> None:
    assert [counted(number, "file") for number in (0, 1, 2_000)] == ["0 files", "1 file", "2,000 files"]


def test_help_of_commands_on_a_thread_offers_what_they_use(capsys: pytest.CaptureFixture[str]) -> None:
    for command, offers in (("resume", True), ("compact", False)):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        said = " ".join(capsys.readouterr().out.split())
        assert "(default: the one that the thread remembers)" in said
        assert ("--allow-commands" in said) == ("--max-requests" in said) == offers
