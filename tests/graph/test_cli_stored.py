"""`longthread threads`, `show` and `compact`: what is stored, and making it small."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_runs import greeter, options, workspace_in
from longthread.graph.cli.main import main
from openai_server import OpenAIServer, Reply

SETTINGS = """\
[compaction]
compact_threshold = 3000
compact_request_threshold = 3600
retained_tokens = 200
auto_read_budget = 600
summary_max_tokens = 400
pinned_user_tokens = 200
"""
SUMMARY = (
    "## Completed Tasks\n### Greeting\nIt was changed.\n\n## Active Task\nNone.\n\n## Key Decisions\n- none\n\n"
    '## User Directives\n- "greet"\n\n## Current Work\nDone, says the SECRET WORKER.'
)
Command = Callable[..., str]


def with_worker(body: dict[str, Any]) -> Reply:
    """The greeter, and a worker that marks the file and writes a summary."""
    names = {tool["function"]["name"] for tool in body["tools"]}
    if "write_summary" not in names:
        return greeter(body)
    mark = ("mark_read_required", {"path": "greeting.txt"})
    return Reply("", calls=(mark, ("write_summary", {"text": SUMMARY})))


@pytest.fixture
def command(openai_server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command on the store; what it printed."""
    workspace_in(tmp_path)
    (tmp_path / "s.toml").write_text(SETTINGS)
    openai_server.answer_by(with_worker)

    def run(name: str, *args: str, code: int = 0) -> str:
        where = ["--db", str(tmp_path / "threads.db")]
        asks = [*options(openai_server, tmp_path), "--settings", str(tmp_path / "s.toml")]
        assert main([name, *(asks if name == "run" else where), *args]) == code, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def test_threads_are_listed_the_last_used_first(command: Command) -> None:
    assert command("threads").startswith("no threads yet in ")
    command("run", "greet the guests", "--thread", "first")
    command("run", "greet the hosts", "--thread", "second")
    head, *rows = command("threads").splitlines()
    assert head.split() == ["THREAD", "STATUS", "LAST", "USED", "TODOS", "CONTEXT", "TASK"]
    assert [row.split()[0] for row in rows] == ["second", "first"]
    assert "done" in rows[0]
    assert "2/2" in rows[0]
    assert rows[0].endswith("greet the hosts")


def test_threads_and_show_give_json(command: Command) -> None:
    command("run", "greet", "--thread", "t")
    [listed] = [json.loads(line) for line in command("threads", "--json").splitlines()]
    shown = json.loads(command("show", "t", "--json", "--messages", "2"))
    assert listed["thread"] == shown["thread"] == "t"
    assert shown["status"] == "done"
    assert [message["type"] for message in shown["messages"]] == ["tool", "ai"]


def test_show_tells_todos_occupancy_with_its_source_and_the_last_messages(command: Command, tmp_path: Path) -> None:
    command("run", "greet", "--thread", "t")
    out = command("show", "t")
    assert out.startswith(f"thread t  done\nopenai:test in {tmp_path / 'workspace'}, last used 20")
    assert "tokens (measured), compacts at 3,000 | 3,600" in out
    assert "    [x] change the greeting\n" in out
    assert "  last messages (8 of " in out
    assert "    edit_file: edited greeting.txt (+1 -1)\n" in out
    assert out.endswith("    agent: The greeting is changed, and that was all there was to do here.\n")


def test_a_thread_is_compacted_by_request_and_shows_its_segment(command: Command, openai_server: OpenAIServer) -> None:
    command("run", "greet", "--thread", "t")
    command("run", "x" * 2_000, "--thread", "t")
    out = command("compact", "t", "keep", "the", "greeting")
    assert "  compaction as you asked: summarising" in out
    assert "    before [" in out
    assert "    after  [" in out
    assert "    read in: greeting.txt\n" in out
    assert "changed on disk" not in out
    assert "SECRET WORKER" not in out
    assert "keep the greeting" in json.dumps(openai_server.requests[-1]["messages"])
    shown = command("show", "t")
    assert "  segments, 1 compacted\n    1. by request: " in shown
    assert "read in: greeting.txt" in shown


def test_a_run_shows_a_compaction_and_never_the_workers_words(command: Command, openai_server: OpenAIServer) -> None:
    def talkative(body: dict[str, Any]) -> Reply:
        reply = with_worker(body)
        return Reply("and on it goes, at length " * 280) if "that was all" in reply.text else reply

    openai_server.answer_by(talkative)
    out = command("run", "greet", "--thread", "t")
    assert "  compaction between turns, above 3,000: summarising" in out
    assert "    read in: greeting.txt\n" in out
    assert "1 message kept, " in out
    assert "SECRET WORKER" not in out
    events = command("run", "once more", "--thread", "t", "--json")
    assert "SECRET WORKER" not in events


def test_compacting_what_cannot_shrink_says_why(command: Command) -> None:
    command("run", "greet", "--thread", "t")
    out = command("compact", "t")
    assert "no compaction (as you asked): " in out or "compaction as you asked" in out


OPEN = "the unfinished turn of this thread stays open; go on with: longthread resume t\n"


def test_compacting_an_unfinished_run_leaves_its_turn_open(command: Command, tmp_path: Path) -> None:
    command("run", "greet " * 400, "--thread", "t", "--max-requests", "2", code=2)
    out = command("compact", "t")
    assert "  compaction as you asked: summarising" in out
    assert out.endswith(OPEN)
    assert command("show", "t").startswith("thread t  unfinished\n")
    assert " unfinished " in command("threads")
    command("resume", "t")
    assert command("show", "t").startswith("thread t  done\n")


def test_a_compaction_that_is_skipped_does_not_lose_the_question(command: Command, openai_server: OpenAIServer) -> None:
    key, openai_server.api_key = openai_server.api_key, "another"
    command("run", "third", "--thread", "t", code=2)
    openai_server.api_key = key
    out = command("compact", "t")
    assert "no compaction (as you asked): " in out
    assert out.endswith(OPEN)
    openai_server.answer_by(lambda body: Reply("The third it is."))
    assert "The third it is." in command("resume", "t")
    assert command("compact", "t").count("stays open") == 0
    assert command("resume", "t").startswith("nothing to resume")


def test_an_imported_question_is_unfinished_and_gets_its_answer(
    command: Command, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    asked = {"type": "human", "data": {"content": "third"}}
    (tmp_path / "t.jsonl").write_text(json.dumps(asked))
    command("import", str(tmp_path / "t.jsonl"), "--thread", "t")
    assert "  go on with: longthread resume t\n" in command("show", "t")
    openai_server.answer_by(lambda body: Reply("The third it is."))
    assert "The third it is." in command("resume", "t", *options(openai_server, tmp_path))


def test_an_unfinished_thread_says_how_to_go_on(command: Command) -> None:
    command("run", "greet", "--thread", "t", "--max-requests", "2", code=2)
    assert "  go on with: longthread resume t\n" in command("show", "t")
    assert " unfinished " in command("threads")


def test_control_characters_in_a_thread_stay_in_it(command: Command, openai_server: OpenAIServer) -> None:
    openai_server.answer("\x1b[31mred\x07")
    command("run", "\x1b]0;title\x07greet", "--thread", "t")
    out = command("show", "t") + command("threads")
    assert not {"\x1b", "\x07"} & set(out)
    assert "agent: red\n" in out
