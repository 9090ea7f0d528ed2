"""What a person sees on a terminal, through a real pseudo-terminal."""

import time
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cli_runs import Terminal, greeter, options, workspace_in
from longthread.graph.cli.live import LiveView
from openai_server import OpenAIServer, Reply

SHOW_CURSOR = "\x1b[?25h"


@pytest.fixture
def server(openai_server: OpenAIServer, tmp_path: Path) -> OpenAIServer:
    workspace_in(tmp_path)
    openai_server.answer_by(greeter)
    return openai_server


def test_the_bar_the_todo_list_and_the_tools_appear(server: OpenAIServer, tmp_path: Path) -> None:
    terminal = Terminal(["run", "greet politely", "--context-window", "8000", *options(server, tmp_path)])
    terminal.wait("waiting for the model")
    for line in ("todo list, 1 of 2 done\n", "● read the greeting\n", "◐ change the greeting\n"):
        terminal.wait(line)
    terminal.wait("✓ edited greeting.txt (+1 -1)")
    assert terminal.end() == 0
    assert "┃░░░░┃░░░▏ " in terminal.screen
    assert "tokens (measured), compacts at 6,000 | 7,200" in terminal.screen
    assert terminal.raw.endswith(SHOW_CURSOR) or SHOW_CURSOR in terminal.raw[-2_000:]


def test_a_command_is_asked_for_with_its_control_characters_written_out(server: OpenAIServer, tmp_path: Path) -> None:
    command = "touch made \x1b[2K# harmless"
    server.answer(Reply("", calls=(("run_command", {"command": command}),)), "Made.")
    terminal = Terminal(["run", "make it", *options(server, tmp_path)])
    terminal.wait("run it? [y]es, [n]o, [a]lways in this session: ")
    assert "touch made \\x1b[2K# harmless" in terminal.screen
    assert not (tmp_path / "workspace" / "made").exists()
    terminal.type("y\r")
    terminal.wait("Made.")
    assert terminal.end() == 0
    assert (tmp_path / "workspace" / "made").exists()


def test_no_and_the_reason_reach_the_model(server: OpenAIServer, tmp_path: Path) -> None:
    server.answer(Reply("", calls=(("run_command", {"command": "rm -rf ."}),)), "Then not.")
    terminal = Terminal(["run", "clean up", *options(server, tmp_path)])
    terminal.wait("run it?")
    terminal.type("n\r")
    terminal.wait("instead?")
    terminal.type("only look\r")
    assert terminal.end() == 0
    [result] = [message for message in server.requests[-1]["messages"] if message["role"] == "tool"]
    assert "rejected this command: only look" in result["content"]


def test_always_is_asked_once(server: OpenAIServer, tmp_path: Path) -> None:
    for name in ("one", "two"):
        server.answer(Reply("", calls=(("run_command", {"command": f"touch {name}"}),)))
    server.answer("Both are there.")
    terminal = Terminal(["run", "make two", *options(server, tmp_path)])
    terminal.wait("run it?")
    terminal.type("a\r")
    assert terminal.end() == 0
    assert terminal.screen.count("run it?") == 1
    assert (tmp_path / "workspace" / "two").exists()


def test_ctrl_c_at_the_question_leaves_it_for_resume(server: OpenAIServer, tmp_path: Path) -> None:
    server.answer(Reply("", calls=(("run_command", {"command": "touch made"}),)))
    terminal = Terminal(["run", "make it", "--thread", "t", *options(server, tmp_path)])
    terminal.wait("run it?")
    time.sleep(0.5)  # A person is slower than the time between the prompt and the reading of the answer.
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "\nlongthread: interrupted" in terminal.screen
    server.answer("Made.")
    again = Terminal(["resume", "t", "--db", str(tmp_path / "threads.db")])
    again.wait("run it?")
    again.type("y\r")
    assert again.end() == 0
    assert (tmp_path / "workspace" / "made").exists()


@pytest.mark.parametrize("pieces", [1, 3, 7, 1_000])
def test_an_answer_scrolls_up_whole_however_it_comes_in(pieces: int) -> None:
    text = " ".join(f"word{n}" for n in range(60)) + "\n\n  - indented\n" + "x" * 95 + "\nend"
    view = LiveView(Console(file=StringIO(), force_terminal=True, width=40, color_system=None))
    for start in range(0, len(text), pieces):
        view.show({"event": "token", "text": text[start : start + pieces]})
    view.close()
    assert isinstance(view.console.file, StringIO)
    lines = view.console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines).split()) == " ".join(
        text.replace("x" * 95, "x" * 40 + " " + "x" * 40 + " " + "x" * 15).split()
    )
    assert "  - indented" in lines
