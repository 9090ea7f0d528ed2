"""`longthread show --full`, `fork`, `export`, `import`, `prune`, `delete`."""

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runs import Terminal, ran
from long_threads import EVERYTHING, looked, said
from longthread.graph import open_saver, thread_lock, transcript
from longthread.graph.cli.main import main
from longthread.graph.threads import thread_names

Command = Callable[..., str]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A thread `t` of several segments."""
    with open_saver(tmp_path / "threads.db") as saver:
        looked(saver)
    return tmp_path / "threads.db"


@pytest.fixture
def command(store: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command on the store; what it printed, on stderr if it failed."""

    def run(*args: str, code: int = 0) -> str:
        assert main([*args, "--db", str(store)]) == code
        printed = capsys.readouterr()
        return printed.err if code else printed.out

    return run


def names(store: Path) -> list[str]:
    with open_saver(store) as saver:
        return sorted(thread_names(saver))


def conversation(store: Path, thread: str) -> list[str]:
    with open_saver(store) as saver:
        return said(transcript(saver, thread))


def test_show_full_prints_the_whole_conversation(command: Command) -> None:
    short, full = command("show", "t"), command("show", "t", "--full")
    assert "you: look thirty times" not in short
    assert "you: look thirty times" in full
    assert all(f"agent: look {n}\n" in full for n in range(30))
    assert "  all 6" in full
    assert " ".join(["see"] * 60) in full


def test_show_full_gives_it_as_json_too(command: Command) -> None:
    shown = json.loads(command("show", "t", "--full", "--json"))
    assert [m["data"]["content"] for m in shown["messages"] if m["type"] in ("human", "ai")] == EVERYTHING


def test_a_fork_gets_a_name_or_is_given_one(command: Command, store: Path) -> None:
    out = command("fork", "t", "--segment", "1", "--to", "early")
    assert out == "forked t to early; go on with: longthread resume early\n"
    assert command("fork", "t").startswith("forked t to look-thirty-times-")
    assert len(names(store)) == 3
    assert conversation(store, "early") == EVERYTHING[: len(conversation(store, "early"))]


def test_an_export_to_a_file_is_imported_again(command: Command, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    assert command("export", "t", "-o", str(file)) == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    out = command("import", str(file), "--thread", "copy")
    assert out == "imported 65 messages as copy; look at them with: longthread show copy\n"
    assert conversation(store, "copy") == EVERYTHING


def test_an_export_to_standard_output_is_imported_from_standard_input(
    command: Command, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(command("export", "t", "--live")))
    name = command("import", "-").split()[4].rstrip(";")
    assert name in names(store)


def test_a_broken_import_says_which_line_and_leaves_no_thread(command: Command, store: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing\n")
    assert command("import", str(tmp_path / "x"), code=2).startswith("longthread: line 1 holds no message: ")
    assert command("import", str(tmp_path / "gone"), code=2) == (
        f"longthread: No such file or directory: {str(tmp_path / 'gone')!r}\n"
    )
    assert names(store) == ["t"]


def test_an_export_of_no_thread_leaves_no_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("before")
    assert "no thread is named 'u'" in command("export", "u", "-o", str(tmp_path / "there"), code=2)
    assert (tmp_path / "there").read_text() == "before"
    assert not list(tmp_path.glob("*.part"))


def test_pruning_says_what_it_did_and_keeps_the_conversation(command: Command, store: Path) -> None:
    before = store.stat().st_size
    out = command("prune", "t")
    assert out.startswith("pruned t: ")
    assert out.endswith("4 closed segments kept as one snapshot each\n")
    assert store.stat().st_size < before / 3
    assert conversation(store, "t") == EVERYTHING


def test_history_is_dropped_when_that_is_asked_for(command: Command, store: Path) -> None:
    command("prune", "t", "--drop-history")
    assert conversation(store, "t") != EVERYTHING
    assert conversation(store, "t")[-1] == "Done."


def test_deleting_asks_first_and_never_goes_unasked(store: Path, command: Command) -> None:
    refused = ran(["delete", "t", "--db", str(store)])
    assert (refused.code, "say --yes" in refused.err) == (2, True)
    for answer, left in (("n", ["t"]), ("y", [])):
        terminal = Terminal(["delete", "t", "--db", str(store)])
        terminal.wait("Delete thread t for good? [y/N]")
        terminal.type(f"{answer}\n")
        assert terminal.end() == 0
        assert names(store) == left


@pytest.mark.parametrize("args", [("delete", "--yes"), ("prune", "--drop-history")])
def test_forks_that_lose_what_they_were_forked_from_are_named(command: Command, args: tuple[str, ...]) -> None:
    command("fork", "t", "--to", "other")
    said = command(args[0], "t", *args[1:])
    assert "lost with it: what came before the compactions of its forks other" in said


def test_deleting_with_yes_does_not_ask(command: Command, store: Path) -> None:
    assert command("delete", "t", "--yes") == "deleted t\n"
    assert names(store) == []
    assert "no thread is named 't'" in command("delete", "t", "--yes", code=2)


@pytest.mark.parametrize("args", [("prune", "t"), ("delete", "t", "--yes")])
def test_a_thread_in_use_is_left_alone(command: Command, store: Path, args: tuple[str, ...]) -> None:
    with open_saver(store) as saver, thread_lock(saver, "t"):
        assert "thread 't' is in use by another run" in command(*args, code=2)
    assert conversation(store, "t") == EVERYTHING
