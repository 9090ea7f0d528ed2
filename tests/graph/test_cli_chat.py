"""`longthread chat`: a conversation, its commands, and Ctrl-C."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_runs import Terminal, greeter, options, workspace_in
from longthread.graph.cli.main import main
from longthread.graph.cli.views import PlainView
from openai_server import OpenAIServer, Reply


@pytest.fixture
def server(openai_server: OpenAIServer, tmp_path: Path) -> OpenAIServer:
    workspace_in(tmp_path)
    openai_server.answer_by(greeter)
    return openai_server


class Chat:
    """Types lines into a chat in this process."""

    def __init__(self, server: OpenAIServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._args = ["chat", "--thread", "t", *options(server, folder)]
        self._monkeypatch = monkeypatch

    def __call__(self, *lines: str | type[BaseException]) -> int:
        typed = iter(lines)

        def heard(_prompt: str = "") -> str:
            line = next(typed, EOFError)
            if isinstance(line, str):
                return line
            raise line

        self._monkeypatch.setattr("builtins.input", heard)
        return main(self._args)


@pytest.fixture
def chat(server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chat:
    return Chat(server, tmp_path, monkeypatch)


def test_turns_follow_one_another_on_one_thread(
    chat: Chat, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat("greet politely", "", "  thanks  ", "/exit", "never heard") == 0
    users = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "user"]
    assert users == ["greet politely", "thanks"]
    out = capsys.readouterr().out
    assert out.startswith("say what to do; /help")
    assert out.count("openai:test in ") == 1, "the head is not repeated"


def test_the_todo_list_can_be_looked_at(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    assert chat("/todos", "greet", "/todos") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1] == "  the todo list is empty"
    assert out.endswith("  todo list, 2 of 2 done\n    [x] read the greeting\n    [x] change the greeting\n")


def test_the_context_can_be_compacted_when_there_is_something_to_compact(
    chat: Chat, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat("/compact", "greet", "/compact keep the greeting") == 0
    out = capsys.readouterr().out
    assert "nothing was said yet" in out
    assert "no compaction (as you asked): " in out


def test_commands_are_explained_and_unknown_ones_are_not_sent(
    chat: Chat, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat("/help", "/sing", "/resume") == 0
    out = capsys.readouterr().out
    assert "/compact [instructions]" in out
    assert "/sing is no command" in out
    assert "nothing to resume" in out
    assert server.requests == []


def test_a_turn_that_fails_leaves_the_chat_open(
    chat: Chat, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer_by(lambda body: Reply("", finish_reason="stop") if len(server.requests) > 1 else greeter(body))
    server.api_key = "another"
    assert chat("greet") == 0
    assert "refused the key" in capsys.readouterr().out


def test_a_compaction_over_an_unfinished_turn_leaves_it_to_resume(
    chat: Chat, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    key, server.api_key = server.api_key, "another"
    assert chat("greet") == 0
    server.api_key = key
    capsys.readouterr()
    assert chat("/compact", "/resume", "/resume") == 0
    out = capsys.readouterr().out
    assert "the unfinished turn stays open; /resume goes on with it" in out
    assert "The greeting is changed" in out
    assert out.endswith("nothing to resume: the last turn has its answer\n")


def test_ctrl_c_at_the_prompt_leaves(chat: Chat) -> None:
    assert chat(KeyboardInterrupt) == 130


def test_ctrl_c_interrupts_the_turn_and_resume_goes_on(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    presses: Iterator[type[BaseException]] = iter([KeyboardInterrupt])
    show = PlainView.show

    def pressing(view: PlainView, event: dict[str, object]) -> None:
        show(view, event)
        if event["event"] == "tool_call" and (press := next(presses, None)):
            raise press

    monkeypatch.setattr(PlainView, "show", pressing)
    assert chat("greet", "/resume") == 0
    assert "interrupted; /resume goes on with the turn" in capsys.readouterr().out
    assert (tmp_path / "workspace" / "greeting.txt").read_text() == "good morning\n"


def test_a_real_ctrl_c_on_a_terminal_keeps_the_chat(server: OpenAIServer, tmp_path: Path) -> None:
    server.answer_by(lambda body: Reply("I think about it", delay=0.4) if len(server.requests) == 1 else greeter(body))
    terminal = Terminal(["chat", "--thread", "t", *options(server, tmp_path)])
    terminal.wait("> ")
    terminal.type("greet\r")
    terminal.wait("answering")
    terminal.type("\x03")
    terminal.wait("interrupted; /resume goes on")
    terminal.type("/resume\r")
    terminal.wait("that was all there was to do")
    terminal.type("/exit\r")
    assert terminal.end() == 0
