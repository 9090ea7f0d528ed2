"""`longthread demo`: what it shows really happens."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_runs import ran
from longthread.graph.cli.main import main
from longthread.graph.demo import run
from longthread.graph.demo.script import steps

PROJECT = Path(run.__file__).parent / "project"


def unittest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", "-m", "unittest"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], Path]:
    """The demo's events, and the folder that it left."""
    kept = tmp_path_factory.mktemp("demo") / "kept"
    done = ran(["demo", "--json", "--keep", str(kept)], HOME=str(kept.parent), OPENAI_API_KEY="")
    assert done.code == 0, done.out[-2_000:] + done.err
    return [json.loads(line) for line in done.out.splitlines()], kept


def named(events: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] in names]


def test_the_shipped_project_fails_three_of_ten_tests(tmp_path: Path) -> None:
    done = unittest_in(PROJECT)
    assert "Ran 10 tests" in done.stderr
    assert "FAILED (failures=3)" in done.stderr
    assert not list(PROJECT.rglob("__pycache__"))


def test_the_agents_copy_is_really_green_and_the_original_untouched(
    shown: tuple[list[dict[str, Any]], Path],
) -> None:
    _, kept = shown
    done = unittest_in(kept / "project")
    assert "Ran 11 tests" in done.stderr
    assert done.returncode == 0
    assert (kept / "project" / "data" / "catalog.csv").read_bytes() == (PROJECT / "data" / "catalog.csv").read_bytes()


def test_each_threshold_leads_to_one_compaction(shown: tuple[list[dict[str, Any]], Path]) -> None:
    found = named(shown[0], "compact_done", "compact_failed", "compact_skipped")
    assert [(event["event"], event["trigger"]) for event in found] == [
        ("compact_done", "compact_request_threshold"),
        ("compact_done", "compact_threshold"),
    ]
    assert all(event["tokens_after"] < 4_200 < event["tokens_before"] for event in found)


def test_after_a_compaction_files_are_edited_that_were_only_read_before(
    shown: tuple[list[dict[str, Any]], Path],
) -> None:
    events, _ = shown
    compacted = next(n for n, event in enumerate(events) if event["event"] == "compact_done")
    after = named(events[compacted:], "tool_call")
    edited = [call["args"]["path"] for call in after if call["name"] == "edit_file"]
    assert set(edited) == {"stockroom/discounts.py", "stockroom/money.py", "tests/test_orders.py"}
    assert not [call for call in after if call["name"] == "read_file"]


def test_every_call_but_the_red_test_runs_succeeds(shown: tuple[list[dict[str, Any]], Path]) -> None:
    failed = [event["name"] for event in named(shown[0], "tool_result") if not event["ok"]]
    runs = [event["ok"] for event in named(shown[0], "tool_result") if event["name"] == "run_command"]
    assert failed == ["run_command", "run_command"]
    assert runs == [False, False, True, True]


def test_the_list_is_planned_reminded_of_and_finished(shown: tuple[list[dict[str, Any]], Path]) -> None:
    plans = [event["todos"] for event in named(shown[0], "todos") if event["todos"]]
    assert {todo["status"] for todo in plans[-1]} == {"completed"}
    assert len(plans) >= 3
    assert named(shown[0], "reminder")


def test_the_thread_can_be_looked_at_afterwards(shown: tuple[list[dict[str, Any]], Path]) -> None:
    out = ran(["show", "demo", "--db", str(shown[1] / "threads.db")]).out
    assert "segments, 2 compacted" in out
    assert "1. between requests: " in out
    assert "2. between turns: " in out


def test_it_says_that_the_model_is_scripted_and_how_to_use_a_real_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "The model is SCRIPTED" in out.split("you: ")[0]
    assert 'longthread run "make the failing test pass" --workspace YOUR_PROJECT' in out
    assert "\n  NO " not in out


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["demo"]) == 0
    assert os.listdir(tmp_path) == []


def test_a_demo_whose_tests_stay_red_does_not_succeed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = steps()
    unmended = [step for step in given if "Python rounds half a cent" not in str(getattr(step, "content", step))]
    monkeypatch.setattr(run, "steps", lambda: unmended)
    assert main(["demo"]) == 1
    assert "NO   the project's own tests" in capsys.readouterr().out
