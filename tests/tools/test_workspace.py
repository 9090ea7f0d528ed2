import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from longthread.tools.beneath import HAS_DIR_FD
from longthread.tools.errors import WorkspaceError
from longthread.tools.workspace import FileMissing, Workspace

posix = pytest.mark.skipif(not HAS_DIR_FD, reason="the platform cannot open relative to a folder")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("one\ntwo\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    return root


@pytest.mark.parametrize("path", ["../secret.txt", "src/../../secret.txt", "src/../src/a.py", "/etc/passwd", "~/x", ""])
def test_a_path_that_may_leave_the_workspace_is_refused(root: Path, path: str) -> None:
    workspace = Workspace(root)
    with pytest.raises(WorkspaceError):
        workspace.read_bytes(path)
    with pytest.raises(WorkspaceError):
        workspace.write_bytes(path, b"x")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "y" * 300, "\ud800", "src/a.py/deeper"])
def test_a_name_that_no_file_can_have_is_a_clear_error(root: Path, path: str) -> None:
    workspace = Workspace(root)
    with pytest.raises(WorkspaceError):
        workspace.read_bytes(path)
    with pytest.raises(WorkspaceError):
        workspace.write_bytes(path, b"x")


def test_an_absolute_path_inside_is_made_relative(root: Path) -> None:
    workspace = Workspace(root)
    assert workspace.relative(str(root / "src" / "a.py")) == "src/a.py"
    assert workspace.read_bytes(str(root / "src" / "a.py")) == b"one\ntwo\n"
    assert workspace.relative(".") == "."


def test_a_link_out_is_refused_and_a_link_inside_is_followed(root: Path) -> None:
    (root / "out").symlink_to(root.parent)
    (root / "in").symlink_to(root / "src")
    workspace = Workspace(root)
    assert workspace.relative("in/a.py") == "src/a.py"
    for path in ("out/secret.txt", "out/new.txt"):
        with pytest.raises(WorkspaceError, match="outside the workspace"):
            workspace.write_bytes(path, b"x")
    assert (root.parent / "secret.txt").read_text() == "secret\n"


def test_writing_through_a_link_inside_keeps_the_link(root: Path) -> None:
    (root / "link.py").symlink_to("src/a.py")
    Workspace(root).write_bytes("link.py", b"new\n")
    assert (root / "link.py").is_symlink()
    assert (root / "src" / "a.py").read_bytes() == b"new\n"


class Swapping(Workspace):
    """A workspace where `src` becomes a link to the outside right after the check."""

    def relative(self, path: str) -> str:
        checked = super().relative(path)
        if (self.root / "src").is_dir() and not (self.root / "src").is_symlink():
            (self.root / "src").rename(self.root / "moved")
            (self.root / "src").symlink_to(self.root.parent)
        return checked


@posix
@pytest.mark.parametrize("path", ["src/secret.txt", "src/new.txt"])
def test_a_link_swapped_in_between_check_and_use_is_refused(root: Path, path: str) -> None:
    (root / "src" / "secret.txt").write_text("inside\n")
    workspace = Swapping(root)
    with pytest.raises(WorkspaceError, match="become a link"):
        workspace.write_bytes(path, b"x")
    with pytest.raises(WorkspaceError):
        workspace.read_bytes(path)
    assert (root.parent / "secret.txt").read_text() == "secret\n"
    assert not (root.parent / "new.txt").exists()


@posix
def test_a_file_that_keeps_being_swapped_for_a_link_never_shows_the_outside(root: Path) -> None:
    workspace, target = Workspace(root), root / "src" / "a.py"
    stop = threading.Event()
    swapper = threading.Thread(target=_swap, args=(target, root.parent / "secret.txt", stop))
    swapper.start()
    try:
        seen = {_read(workspace, "src/a.py") for _ in range(2_000)}
    finally:
        stop.set()
        swapper.join()
    assert seen <= {b"one\ntwo\n", b"one\n", b"refused"}
    assert len(seen) >= 2


def _read(workspace: Workspace, path: str) -> bytes:
    try:
        return workspace.read_bytes(path)
    except WorkspaceError:
        return b"refused"


def _swap(target: Path, outside: Path, stop: threading.Event) -> None:
    other = target.with_name("other")
    while not stop.is_set():
        other.symlink_to(outside)
        other.replace(target)
        other.write_text("one\n")
        other.replace(target)


@posix
def test_a_pipe_a_socket_and_a_device_are_refused_without_waiting(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    os.mkfifo("pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    for path in ("pipe", "socket"):
        with pytest.raises(WorkspaceError):
            Workspace(root).read_bytes(path)
        with pytest.raises(WorkspaceError, match="not a regular file"):
            Workspace(root).write_bytes(path, b"x")
    server.close()


@posix
def test_a_write_keeps_the_mode_and_leaves_no_other_file(root: Path) -> None:
    script = root / "src" / "a.py"
    script.chmod(0o750)
    Workspace(root).write_bytes("src/a.py", b"new\n")
    assert script.read_bytes() == b"new\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert os.listdir(root / "src") == ["a.py"]


def test_a_write_makes_missing_folders(root: Path) -> None:
    Workspace(root).write_bytes("deep/er/new.txt", b"x")
    assert (root / "deep" / "er" / "new.txt").read_bytes() == b"x"


def test_what_a_killed_write_left_behind_is_gone_after_the_next(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _killed)
        patch.setattr(os, "unlink", _killed)
        with pytest.raises(SystemExit):
            Workspace(root).write_bytes("src/a.py", b"half")
    assert len(os.listdir(root / "src")) == 2
    assert (root / "src" / "a.py").read_text() == "one\ntwo\n"
    Workspace(root).write_bytes("src/a.py", b"whole")
    assert os.listdir(root / "src") == ["a.py"]


def _killed(*_args: object, **_kwargs: object) -> None:
    raise SystemExit


@posix
def test_a_hard_link_planted_as_temporary_file_is_not_written_through(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _killed)
        patch.setattr(os, "unlink", _killed)
        with pytest.raises(SystemExit):
            Workspace(root).write_bytes("src/a.py", b"half")
    [temporary] = [name for name in os.listdir(root / "src") if name != "a.py"]
    os.unlink(root / "src" / temporary)
    os.link(root.parent / "secret.txt", root / "src" / temporary)
    Workspace(root).write_bytes("src/a.py", b"whole")
    assert (root.parent / "secret.txt").read_text() == "secret\n"


def test_writers_of_one_file_never_leave_a_mix(root: Path) -> None:
    workspace, texts = Workspace(root), [bytes([65 + n]) * 100_000 for n in range(4)]
    threads = [threading.Thread(target=workspace.write_bytes, args=("src/a.py", text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (root / "src" / "a.py").read_bytes() in texts
    assert os.listdir(root / "src") == ["a.py"]


def test_files_of_git_are_not_written(root: Path) -> None:
    (root / ".git").mkdir()
    for path in (".git/config", ".GIT/hooks/post-commit", "src/.git/config"):
        with pytest.raises(WorkspaceError, match="git itself"):
            Workspace(root).write_bytes(path, b"x")
    Workspace(root).write_bytes(".gitignore", b"x")


def test_a_missing_file_is_named_with_up_to_three_similar_ones(root: Path) -> None:
    for name in ("report.md", "deep/report.txt", "deep/reports.txt", "deep/other.txt", "node_modules/report.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).touch()
    with pytest.raises(
        FileMissing, match=r"'report.txt' does not exist; did you mean 'deep/report.txt', .*'\?"
    ) as caught:
        Workspace(root).read_bytes("report.txt")
    assert "node_modules" not in str(caught.value)
    assert str(caught.value).count("'") == 2 * 4


def test_a_folder_is_an_error_that_names_list_files(root: Path) -> None:
    for path in ("src", "."):
        with pytest.raises(WorkspaceError, match="list_files"):
            Workspace(root).read_bytes(path)
        with pytest.raises(WorkspaceError, match="list_files"):
            Workspace(root).write_bytes(path, b"x")


def test_a_file_over_ten_megabytes_is_refused(root: Path) -> None:
    (root / "huge.txt").write_bytes(b"x" * 10_000_001)
    (root / "large.txt").write_bytes(b"x" * 10_000_000)
    with pytest.raises(WorkspaceError, match="larger than 10 MB"):
        Workspace(root).read_bytes("huge.txt")
    assert len(Workspace(root).read_bytes("large.txt")) == 10_000_000


def test_binary_is_refused_and_bad_utf8_is_marked(root: Path) -> None:
    (root / "a.bin").write_bytes(b"a" * 8_000 + b"\0")
    (root / "latin.txt").write_bytes("café\n".encode("latin-1"))
    with pytest.raises(WorkspaceError, match="binary"):
        Workspace(root).read_text("a.bin")
    read = Workspace(root).read_text("latin.txt")
    assert (read.text, read.lossy) == ("caf\ufffd\n", True)


def test_lines_are_counted_as_editors_do(root: Path) -> None:
    (root / "lines.txt").write_bytes("1\r\n2\u20282\f\n3\r3\n4".encode())
    lines = Workspace(root).read_lines("lines.txt", offset=2, limit=2)
    assert list(lines.lines) == ["2\u20282\f", "3\r3"]
    assert (lines.first, lines.last, lines.total) == (2, 3, 4)


@pytest.mark.parametrize(("offset", "limit"), [(-1, None), (4, None), (1, 0), (1, -5)])
def test_a_range_outside_the_file_is_an_error(root: Path, offset: int, limit: int | None) -> None:
    with pytest.raises(WorkspaceError, match=r"offset=|limit="):
        Workspace(root).read_lines("src/a.py", offset, limit)


def test_an_empty_file_has_no_lines(root: Path) -> None:
    (root / "empty").touch()
    lines = Workspace(root).read_lines("empty")
    assert (list(lines.lines), lines.first, lines.last, lines.total) == ([], 1, 0, 0)


@pytest.mark.parametrize("name", ["missing", "src/a.py"])
def test_a_root_that_is_no_folder_is_an_error(root: Path, name: str) -> None:
    with pytest.raises(WorkspaceError, match="is not a folder"):
        Workspace(root / name)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_an_unreadable_file_is_a_clear_error(root: Path) -> None:
    (root / "src" / "a.py").chmod(0)
    with pytest.raises(WorkspaceError, match="no permission"):
        Workspace(root).read_bytes("src/a.py")


def test_a_link_that_leads_in_a_circle_is_a_clear_error(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    with pytest.raises(WorkspaceError):
        Workspace(root).read_bytes("loop")
    with pytest.raises(WorkspaceError):
        Workspace(root).write_bytes("loop", b"x")
