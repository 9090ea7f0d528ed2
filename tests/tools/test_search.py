import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from longthread.tools.errors import WorkspaceError
from longthread.tools.listing import list_paths
from longthread.tools.search import search_tools
from longthread.tools.workspace import Workspace
from tool_calls import Session

FILES = {
    ".gitignore": "*.log\n/build/\n!keep.log\n",
    "a.py": "import os\nx = 1\n",
    "keep.log": "x\n",
    "drop.log": "import x\n",
    "build/out.py": "import built\n",
    "src/.gitignore": "*.tmp\n!*.log\n",
    "src/b.py": "import sys\n\n\n\n\nimport re\n",
    "src/c.tmp": "import x\n",
    "src/d.log": "IMPORT x\n",
    ".hidden/e.py": "y = 2\n",
}
SHOWN = [".gitignore", ".hidden/e.py", "a.py", "keep.log", "src/.gitignore", "src/b.py", "src/d.log"]


@pytest.fixture(params=["git", "no git"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    if request.param == "git":
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.fixture(params=["rg", "re"])
def backend(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Both programs that can search; without `rg` on the path, `re` is taken."""
    if request.param == "rg" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    if request.param == "re":
        folder = tmp_path_factory.mktemp("bin")
        (folder / "git").symlink_to(shutil.which("git") or "git")
        monkeypatch.setenv("PATH", str(folder))


def session(root: Path, grep_seconds: float = 20.0) -> Session:
    return Session(search_tools(Workspace(root), grep_seconds))


def test_ignore_files_are_respected(root: Path) -> None:
    assert list_paths(Workspace(root)) == SHOWN
    assert list_paths(Workspace(root), "src") == ["src/.gitignore", "src/b.py", "src/d.log"]


def test_an_ignored_folder_that_is_asked_for_is_listed(root: Path) -> None:
    assert list_paths(Workspace(root), "build") == ["build/out.py"]


def test_a_folder_is_listed_with_its_folders_first(root: Path) -> None:
    message = session(root).message("list_files")
    assert str(message.content).split("\n") == [".hidden/", "src/", ".gitignore", "a.py", "keep.log"]
    assert message.additional_kwargs["summary"] == "listed .: 5 entries"


def test_a_pattern_finds_files_at_any_depth(root: Path) -> None:
    agent = session(root)
    assert agent.text("list_files", pattern="*.py") == ".hidden/e.py\na.py\nsrc/b.py"
    assert agent.text("list_files", path="src", pattern="*.py") == "b.py"
    assert agent.text("list_files", pattern="*.md").startswith("no files for '*.md'")


def test_deleted_files_and_those_behind_a_link_are_not_listed(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "b.py").write_text("import secret\n")
    if (root / ".git").exists():
        subprocess.run(["git", "-C", root, "add", "."], check=True)
    (root / "a.py").unlink()
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(outside)
    assert list_paths(Workspace(root)) == [".gitignore", ".hidden/e.py", "keep.log", "src"]
    with pytest.raises(WorkspaceError, match="outside"):
        list_paths(Workspace(root), "src")


def test_a_repository_inside_the_repository_is_listed_by_its_own_rules(root: Path) -> None:
    (root / "inner").mkdir()
    subprocess.run(["git", "init", "-q", root / "inner"], check=True)
    (root / "inner" / ".gitignore").write_text("*.out\n")
    (root / "inner" / "x.out").touch()
    (root / "inner" / "y.py").touch()
    assert list_paths(Workspace(root), "inner") == ["inner/.gitignore", "inner/y.py"]
    assert "inner/y.py" in list_paths(Workspace(root))


def test_settings_of_a_strange_repository_run_nothing(root: Path) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    with (root / ".git" / "config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "touch {root}/ran; false"\n')
    list_paths(Workspace(root))
    assert not (root / "ran").exists()


def test_a_workspace_that_an_outer_repository_ignores_is_still_listed(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("work\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").touch()
    assert list_paths(Workspace(tmp_path / "work")) == ["a.py"]


def test_a_missing_folder_and_a_file_are_clear_errors(root: Path) -> None:
    with pytest.raises(WorkspaceError, match="does not exist"):
        session(root).message("list_files", path="nothing")
    with pytest.raises(WorkspaceError, match="is a file, not a folder; show it with read_file"):
        session(root).message("list_files", path="a.py")


def test_a_long_listing_is_cut_with_a_note(tmp_path: Path) -> None:
    for n in range(600):
        (tmp_path / f"f{n}").touch()
    lines = session(tmp_path).text("list_files").split("\n")
    assert len(lines) == 501
    assert lines[-1] == "[100 more; narrow path or pattern]"


def test_an_ignore_line_that_would_match_for_ever_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 20 + "b\n*.log\n")
    (tmp_path / ("a" * 200)).touch()
    (tmp_path / "x.log").touch()
    assert list_paths(Workspace(tmp_path)) == [".gitignore", "a" * 200]


@pytest.mark.usefixtures("backend")
def test_grep_shows_each_file_with_its_lines(root: Path) -> None:
    message = session(root).message("grep", pattern="^import")
    assert message.content == "a.py\n1:import os\nsrc/b.py\n1:import sys\n6:import re"
    assert message.additional_kwargs["summary"] == "grep '^import' in .: 3 matches"


@pytest.mark.usefixtures("backend")
def test_grep_takes_a_glob_and_a_file_and_ignores_case(root: Path) -> None:
    agent = session(root)
    assert agent.text("grep", pattern="import", glob="*.log", ignore_case=True) == "src/d.log\n1:IMPORT x"
    assert agent.text("grep", pattern="import", path="src/b.py") == "src/b.py\n1:import sys\n6:import re"
    assert agent.text("grep", pattern="import", path="drop.log") == "drop.log\n1:import x"
    assert agent.text("grep", pattern="nowhere").startswith("no match in 7 files")


@pytest.mark.usefixtures("backend")
def test_grep_shows_lines_around_a_match(root: Path) -> None:
    text = session(root).text("grep", pattern="import", path="src", context=1)
    assert text == "src/b.py\n1:import sys\n2-\n--\n5-\n6:import re"


@pytest.mark.usefixtures("backend")
def test_grep_handles_names_and_patterns_that_look_like_options(tmp_path: Path) -> None:
    for name in ("-v", "a\nb.txt", "c\0d".replace("\0", " ")):
        (tmp_path / name).write_text("--files -e x\n")
    text = session(tmp_path).text("grep", pattern="--files")
    assert text.split("\n") == ["-v", "1:--files -e x", r"'a\nb.txt'", "1:--files -e x", "c d", "1:--files -e x"]
    assert session(tmp_path).text("grep", pattern="-i").startswith("no match")


@pytest.mark.usefixtures("backend")
def test_grep_passes_over_binary_huge_and_linked_files(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_text("needle\n")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "binary").write_bytes(b"\0needle\n")
    (tmp_path / "huge").write_bytes(b"needle\n" * 1_500_000)
    (tmp_path / "utf16").write_bytes("needle\n".encode("utf-16"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zzz").write_bytes(b"caf\xe9 needle\r\n")
    assert session(tmp_path).text("grep", pattern="needle$") == "zzz\n1:caf\ufffd needle"


@pytest.mark.usefixtures("backend")
def test_grep_shows_a_long_line_around_its_match(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_text("ä" * 50_000 + "needle" + "y" * 50_000)
    text = session(tmp_path).text("grep", pattern="needle")
    assert "ä" * 100 + "needle" + "y" * 100 in text
    assert len(text) < 400


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("lines", [101, 200, 500])
def test_grep_stops_at_many_matches_with_a_note(tmp_path: Path, lines: int) -> None:
    (tmp_path / "one").write_text("x\n" * lines)
    (tmp_path / "two").write_text("x\n" * 100)
    message = session(tmp_path).message("grep", pattern="x")
    assert message.additional_kwargs["summary"].endswith("200 matches")
    assert str(message.content).endswith("[stopped at 200 matches; narrow pattern, path or glob to see the others]")


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("pattern", ["(", "[z-a]", "", "a\0b", "\ud800", "x" * 1_001, "(?P<n>x)(?P<n>y)"])
def test_an_invalid_pattern_is_a_clear_error(root: Path, pattern: str) -> None:
    with pytest.raises(WorkspaceError, match="pattern"):
        session(root).message("grep", pattern=pattern)


@pytest.mark.usefixtures("backend")
def test_patterns_of_either_dialect_work(root: Path) -> None:
    assert session(root).text("grep", pattern=r"import (?!os)\w+", path="a.py").startswith("no match")
    assert session(root).text("grep", pattern=r"(s)y\1", path="src") == "src/b.py\n1:import sys"


@pytest.mark.usefixtures("backend")
def test_a_pattern_that_never_ends_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("needle a\n")
    (tmp_path / "b").write_text("a" * 50_000 + "!\n")
    began = time.monotonic()
    text = session(tmp_path, grep_seconds=1.0).text("grep", pattern=r"needle|(a|aa)+\1$")
    assert text == "a\n1:needle a\n[stopped after 1 s; search a smaller folder or simplify the pattern]"
    assert time.monotonic() - began < 5


@pytest.mark.usefixtures("backend")
def test_many_files_are_searched_in_order(tmp_path: Path) -> None:
    for n in range(1_200):
        (tmp_path / f"{n:04}.txt").write_text("needle\n" if n % 100 == 0 else "x\n")
    lines = session(tmp_path).text("grep", pattern="needle").split("\n")
    assert lines[::2] == [f"{n:04}.txt" for n in range(0, 1_200, 100)]
