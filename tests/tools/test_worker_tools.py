"""The four tools of the compaction worker, over its desk."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from compactions import SUMMARY, files, words
from longthread.graph.scripted import call
from longthread.nodes.worker.summaries import make_review
from longthread.tools.tokens import count_text
from longthread.tools.worker import EMPTY_DESK, Desk, WorkerTools, bind_schemas
from longthread.tools.workspace import Workspace

SCHEMAS = Path(__file__).parent.parent / "data" / "snapshots" / "worker_tools.json"
LINES = "\n".join(words(9) for _ in range(100))


def kit(folder: Path | None, budget: int = 1_000, scale: float = 1.0) -> WorkerTools:
    return WorkerTools(Workspace(folder) if folder else None, budget, scale, make_review(500))


class Worker:
    """A desk and what is done at it."""

    def __init__(self, tools: WorkerTools) -> None:
        self.tools, self.desk, self.status = tools, EMPTY_DESK, ""

    def __call__(self, name: str, **args: Any) -> str:
        before: Desk = json.loads(json.dumps(self.desk))
        message, after = self.tools.run({**call(name, **args), "id": "c1"}, self.desk)
        assert self.desk == before, "nothing is changed in place"
        self.desk, self.status = after, message.status
        return message.text


@pytest.fixture
def do(tmp_path: Path) -> Worker:
    texts = {"a": LINES, "b": "x = 1\n", "c": LINES}
    return Worker(kit(files(tmp_path, **texts)))


def test_the_schemas_are_those_that_were_reviewed() -> None:
    assert json.dumps(bind_schemas(with_files=True), indent=2) + "\n" == SCHEMAS.read_text()


def test_without_a_workspace_there_is_only_the_summary() -> None:
    assert [schema["function"]["name"] for schema in bind_schemas(with_files=False)] == ["write_summary"]
    do = Worker(kit(None))
    assert do("read_file", path="a.py") == "Error: there is no tool 'read_file'; the tools are write_summary."
    assert do("write_summary", text=SUMMARY).startswith("Summary saved")


def test_null_for_an_optional_argument_counts_as_left_out(do: Worker) -> None:
    assert do("read_file", path="b.py", offset=None, limit=None) == do("read_file", path="b.py")
    assert not do("add_reference", path="b.py", note=None).startswith("Error")


def test_a_read_shows_numbered_lines_and_takes_a_fifth_of_the_budget_at_most(do: Worker) -> None:
    assert do("read_file", path="b.py") == "b.py lines 1-1 of 1\n1\tx = 1"
    text = do("read_file", path="a.py")
    assert text.startswith("a.py lines 1-100 of 100\n1\twor")
    assert "read a range with offset and limit" in text
    assert count_text(text) <= 200
    assert do.desk["read"] == ["b.py", "a.py"]
    assert do("read_file", path="a.py", offset=99).startswith("a.py lines 99-100 of 100\n99\t")


def test_a_mark_answers_what_is_left_of_the_budget(do: Worker) -> None:
    text = do("mark_read_required", path="a.py", offset=1, limit=20)
    used = do.desk["marks"][0]["tokens"]
    assert text == f"Marked. Budget: {1_000 - used}/1000 tokens remaining"
    assert 150 < used < 250


def test_marking_again_replaces_and_a_limit_of_none_removes(do: Worker) -> None:
    do("mark_read_required", path="a.py", limit=20)
    do("mark_read_required", path="./a.py", offset=5, limit=10)
    [mark] = do.desk["marks"]
    assert (mark["path"], mark["offset"], mark["limit"]) == ("a.py", 5, 10)
    assert do("mark_read_required", path="a.py", limit=0) == "Unmarked. Budget: 1000/1000 tokens remaining"
    assert do.desk["marks"] == []


def test_a_mark_over_the_budget_by_one_token_is_an_error_with_the_ways_out(tmp_path: Path) -> None:
    need = count_text(LINES)
    do = Worker(kit(files(tmp_path, a=LINES), need - 1))
    text = do("mark_read_required", path="a.py")
    assert text.startswith(f"Error: auto-read budget exhausted ({need - 1} tokens): 'a.py' lines 1-100 need {need}")
    assert all(way in text for way in ("offset and limit", "limit=0", "add_reference"))
    assert (do.status, do.desk["marks"]) == ("error", [])
    assert Worker(kit(tmp_path, need))("mark_read_required", path="a.py").startswith("Marked. Budget: 0/")


def test_the_budget_is_in_the_main_models_tokens(tmp_path: Path) -> None:
    do = Worker(kit(files(tmp_path, a=LINES), budget=10_000, scale=2.0))
    do("mark_read_required", path="a.py")
    assert do.desk["marks"][0]["tokens"] == 2 * count_text(LINES)


def test_at_half_of_the_budget_the_next_result_says_so_once(do: Worker) -> None:
    do("mark_read_required", path="a.py", limit=70)
    assert "<system-reminder>" in do("read_file", path="b.py")
    assert "<system-reminder>" not in do("read_file", path="b.py")


def test_below_half_of_it_nothing_is_said(do: Worker) -> None:
    do("mark_read_required", path="b.py")
    assert "<system-reminder>" not in do("read_file", path="b.py")


def test_a_reference_is_one_line_and_named_once(do: Worker) -> None:
    do("add_reference", path="a.py", note="the\nparser")
    do("add_reference", path="./a.py", note="the lexer")
    assert do.desk["references"] == [{"path": "a.py", "note": "the lexer"}]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "gone.py"])
def test_a_reference_to_what_is_not_there_is_an_error(do: Worker, path: str) -> None:
    assert do("add_reference", path=path).startswith("Error: ")
    assert (do.status, do.desk) == ("error", EMPTY_DESK)


@pytest.mark.parametrize("tool", ["read_file", "mark_read_required"])
@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "gone.py", "link.py", "binary.py", "", "a\nb.py"])
def test_what_the_workspace_refuses_is_an_error_result(do: Worker, tmp_path: Path, tool: str, path: str) -> None:
    (tmp_path / "binary.py").write_bytes(b"\0\1")
    os.symlink("/etc/passwd", tmp_path / "link.py")
    assert do(tool, path=path).startswith("Error: ")
    assert (do.status, do.desk) == ("error", EMPTY_DESK)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read_file", {}),
        ("read_file", {"path": 7}),
        ("read_file", {"path": "a.py", "offset": -1}),
        ("mark_read_required", {"path": "a.py", "offset": 5_000}),
        ("write_summary", {}),
        ("write_summary", {"text": None}),
        ("todo_write", {"todos": []}),
        ("", {}),
    ],
)
def test_a_call_that_does_not_fit_changes_nothing(do: Worker, name: str, args: dict[str, Any]) -> None:
    text = do(name, **args)
    assert text.startswith("Error: ")
    assert "pydantic" not in text
    assert (do.status, do.desk) == ("error", EMPTY_DESK)


def test_an_unknown_tool_is_answered_with_the_names_of_those_there_are(do: Worker) -> None:
    text = do("run_command", command="ls")
    assert text == (
        "Error: there is no tool 'run_command'; the tools are read_file, mark_read_required, add_reference, "
        "write_summary."
    )


def test_a_summary_that_lacks_sections_is_sent_back_once_and_then_completed(do: Worker) -> None:
    partial = "## Active Task\nthe parser"
    assert "lacks '## Completed Tasks', '## Key Decisions'" in do("write_summary", text=partial)
    assert (do.status, do.desk["summary"]) == ("error", "")
    assert do("write_summary", text=partial).startswith("Summary saved")
    assert do.desk["summary"].count("\n## ") == 4


def test_a_summary_that_is_too_long_is_sent_back_once_and_then_cut(do: Worker) -> None:
    long = SUMMARY.replace("nothing", words(400))
    assert "over its limit of 500" in do("write_summary", text=long)
    do("write_summary", text=long)
    assert count_text(do.desk["summary"]) <= 500


@pytest.mark.parametrize("text", ["", "  \n", "Error: rate limit", "## Notes\nfine"])
def test_what_is_no_summary_leaves_the_last_valid_one(do: Worker, text: str) -> None:
    do("write_summary", text=SUMMARY)
    assert do("write_summary", text=text).startswith("Error: this is no summary")
    assert do.desk["summary"] == SUMMARY
