"""The small parts of the command line: options, names, places, text, the bar, what changed on disk."""

import stat
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_runs import ran
from longthread.graph.cli.bar import ASCII, bar, gauge
from longthread.graph.cli.changes import WATCHED, DiskWatch
from longthread.graph.cli.events import Narrator, Thresholds
from longthread.graph.cli.names import new_name
from longthread.graph.cli.options import Setup, settle, shown_store, without_secrets
from longthread.graph.cli.parse import parser
from longthread.graph.cli.printable import printable, visible
from longthread.graph.cli.store import default_store, open_store, state_folder
from longthread.tools.workspace import Workspace

BOTH = Thresholds(6_000, 7_200)


def given_options(*args: str) -> Namespace:
    return parser().parse_args(["run", "task", *args])


@pytest.mark.parametrize(
    ("model", "environment", "meant"),
    [
        (None, {}, "openai:gpt-5-mini"),
        (None, {"LONGTHREAD_MODEL": "anthropic:claude"}, "anthropic:claude"),
        ("openai:gpt-5", {"LONGTHREAD_MODEL": "anthropic:claude"}, "openai:gpt-5"),
        ("qwen3:8b", {"OPENAI_BASE_URL": "http://here/v1"}, "openai:qwen3:8b"),
        ("local", {"OPENAI_BASE_URL": "http://here/v1"}, "openai:local"),
        ("openai:local", {"OPENAI_BASE_URL": "http://here/v1"}, "openai:local"),
        ("anthropic:claude", {"OPENAI_BASE_URL": "http://here/v1"}, "anthropic:claude"),
        ("local", {}, "local"),
    ],
)
def test_the_model_that_is_meant(model: str | None, environment: dict[str, str], meant: str) -> None:
    args = ["--model", model] if model else []
    assert settle(given_options(*args), {}, environment).model == meant


def test_an_option_wins_over_what_the_thread_remembers_and_that_over_the_environment() -> None:
    remembered = {"model": "openai:a", "workspace": "/w", "context_window": 8_000, "base_url": "http://there/v1"}
    environment = {"LONGTHREAD_MODEL": "openai:z", "LONGTHREAD_DB": "/env.db"}
    setup = settle(given_options("--model", "openai:b"), remembered, environment)
    assert (setup.model, setup.workspace, setup.context_window) == ("openai:b", Path("/w"), 8_000)
    assert (setup.base_url, setup.store) == ("http://there/v1", "/env.db")
    assert settle(given_options(), remembered, environment).model == "openai:a"


def test_what_a_thread_remembers_may_be_damaged() -> None:
    damaged: dict[str, Any] = {"model": 5, "workspace": None, "context_window": "many", "base_url": ""}
    setup = settle(given_options(), damaged, {})
    assert (setup.model, setup.context_window, setup.base_url) == ("openai:gpt-5-mini", None, None)


def test_permission_to_run_commands_is_not_remembered_and_a_restriction_is() -> None:
    assert "allow_commands" not in Setup(Path("/w"), "m", allow_commands="always").metadata()
    never = Setup(Path("/w"), "m", allow_commands="never").metadata()
    assert settle(given_options(), never, {}).allow_commands == "never"


def test_what_to_type_to_go_on_is_quoted_for_a_shell() -> None:
    setup = Setup(Path("/w"), "m", allow_commands="always", store_option="my threads.db")
    assert setup.resume_command("a b") == "longthread resume 'a b' --allow-commands always --db 'my threads.db'"


def test_what_to_type_to_go_on_holds_no_password() -> None:
    for where, shown in (
        ("postgres://me:hunter2@host/threads", "postgres://me:***@host/threads"),
        (
            "postgresql://host/threads?user=me&password=hunter2&a=b",
            "postgresql://host/threads?user=me&password=***&a=b",
        ),
        ("postgresql://me@host:5432/threads?host=/run", "postgresql://me@host:5432/threads?host=/run"),
        ("postgresql://postgres:@/x?host=/run", "postgresql://postgres:@/x?host=/run"),
    ):
        assert shown_store(where) == shown


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://me:pw@host:8000/v1?api-key=1#x", "https://host:8000/v1"),
        ("http://[::1]:9/v1", "http://[::1]:9/v1"),
        (None, None),
    ],
)
def test_addresses_are_kept_without_what_may_be_a_secret(url: str | None, kept: str | None) -> None:
    assert without_secrets(url) == kept


def test_the_store_lies_in_the_users_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert default_store({"LONGTHREAD_DB": "x.db"}) == "x.db"
    assert default_store({"XDG_STATE_HOME": "/state"}, "linux") == "/state/longthread/threads.db"
    assert default_store({"XDG_STATE_HOME": "relative"}, "linux") == "/home/me/.local/state/longthread/threads.db"
    assert state_folder({}, "darwin") == Path("/home/me/Library/Application Support/longthread")
    assert state_folder({"LOCALAPPDATA": "/local"}, "win32") == Path("/local/longthread")


def test_a_folder_made_for_the_store_is_the_users_alone(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "state" / "threads.db")):
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("task", "begins"),
    [
        ("Mend the failing test, please do it now", "mend-the-failing-test-please-"),
        ("Überprüfe größere Änderungen", "uberprufe-groere-anderungen-"),
        ("修复测试", "thread-"),
        ("x" * 500, "x" * 40 + "-"),
    ],
)
def test_generated_names_can_be_read(task: str, begins: str) -> None:
    name = new_name(task, lambda _: False)
    assert name.startswith(begins)
    assert len(name) == len(begins) + 4


def test_a_generated_name_is_a_free_one() -> None:
    tried: list[str] = []

    def taken(name: str) -> bool:
        tried.append(name)
        return len(tried) < 4

    assert new_name("task", taken) == tried[3]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("bell\x07 back\x08 null\x00 c1\x9b2J", "bell back null c12J"),
        ("one\r\ntwo\rthree\ttab", "one\ntwothree   tab"),
        ("right\u202eleft", "rightleft"),
        ("日本語 ✓ é", "日本語 ✓ é"),
    ],
)
def test_text_is_shown_without_control_characters(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(alphabet=st.characters(codec="utf-16", categories=None)))
def test_no_text_moves_the_cursor(text: str) -> None:
    for shown in (printable(text), visible(text)):
        assert all(character == "\n" or (character.isprintable() or ord(character) > 0x9F) for character in shown)


def test_what_is_to_be_approved_is_written_out() -> None:
    assert visible("echo \x1b[2K\u202e\r\n") == "echo \\x1b[2K\\u202e\\r\n"


@pytest.mark.parametrize(
    ("tokens", "drawn"),
    [(0, "[---------------|--|-]"), (10, "[#--------------|--|-]"), (4_000, "[##########-----|--|-]")],
)
def test_the_bar_is_filled_against_the_window(tokens: int, drawn: str) -> None:
    assert bar(tokens, BOTH, ASCII, width=20).plain == drawn


def test_the_bar_is_full_beyond_its_scale_and_green_below_both_thresholds() -> None:
    assert "-" not in bar(90_000, BOTH, ASCII).plain
    styles = [str(gauge(tokens, BOTH).spans[-2].style) for tokens in (6_000, 6_001, 7_201)]
    assert styles == ["bold green", "bold yellow", "bold red"]


def test_a_gauge_without_thresholds_gives_the_number() -> None:
    assert gauge(1_234, Thresholds(), source="estimated").plain == "1,234 tokens (estimated), no thresholds known here"


def test_every_way_of_changing_a_file_is_seen(tmp_path: Path) -> None:
    for name in ("edited", "rewritten", "deleted", "touched", "kept"):
        (tmp_path / name).write_text("one\ntwo\n")
    watch = DiskWatch(Workspace(tmp_path), str(tmp_path / "threads.db"))
    watch.about_to_change([{"name": "edit_file", "args": {"path": name}} for name in ("edited", "kept", "new", "../x")])
    (tmp_path / "edited").write_text("one\n2\n3\n")
    (tmp_path / "rewritten").write_text("1\n2\n3\n")
    (tmp_path / "deleted").unlink()
    (tmp_path / "new").write_text("a\n")
    (tmp_path / "made by a command").write_text("a\nb\n")
    for end in ("", "-wal", ".t.lock"):
        (tmp_path / f"threads.db{end}").write_text("not the agent's work")
    assert [(c.path, c.change, c.added, c.removed) for c in watch.changes()] == [
        ("deleted", "deleted", None, None),
        ("edited", "modified", 2, 1),
        ("made by a command", "added", 2, 0),
        ("new", "added", 1, 0),
        ("rewritten", "modified", None, None),
    ]


def test_in_a_huge_workspace_only_what_the_tools_touch_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longthread.graph.cli.changes.WATCHED", 2)
    assert WATCHED == 5_000
    for name in "abc":
        (tmp_path / name).write_text(name)
    watch = DiskWatch(Workspace(tmp_path))
    watch.about_to_change([{"name": "edit_file", "args": {"path": "a"}}])
    (tmp_path / "a").write_text("changed")
    (tmp_path / "b").write_text("changed")
    assert [change.path for change in watch.changes()] == ["a"]


def test_help_names_every_exit_code_and_gives_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["run", "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    for text in ("exit codes:", "130 ", "143 ", "examples:", "--allow-commands", "--context-window"):
        assert text in said


def test_parts_of_subgraphs_and_foreign_events_are_not_told() -> None:
    narrator = Narrator(BOTH)
    assert list(narrator.read({"type": "custom", "ns": ("compact:1",), "data": {"event": "x"}})) == []
    assert list(narrator.read({"type": "custom", "ns": (), "data": "text"})) == []
    assert list(narrator.read({"type": "updates", "ns": (), "data": {"inject_reminder": None}})) == []


def test_the_help_answers_without_loading_the_graph() -> None:
    probe = "import sys\nfrom longthread.graph.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    done = ran(["-c", probe + "print('langgraph' in sys.modules)"], module=False)
    assert done.out.endswith("False\n"), done.err
