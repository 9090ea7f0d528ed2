"""A workspace full of links, as an unpacked archive may leave it: nothing from outside is ever shown or written."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from longthread.tools.workspace_tools import workspace_tools
from tool_calls import Session

SECRET = "SECRET of somebody else"
S_IFLNK = 0o120777
LINKS = {
    "direct": "../outside/secret.txt",
    "folder": "../outside",
    "deep/a/b": "../../../outside",
    "chain1": "chain2",
    "chain2": "chain3",
    "chain3": "../outside/secret.txt",
    "through": "deep/a/b/secret.txt",
    "circle1": "circle2",
    "circle2": "circle1",
    "self": ".",
    "up": "..",
    "absolute": "/etc/passwd",
    "process": "/proc/self/environ",
    "dangling": "../outside/new.txt",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_files", {}),
    ("grep", {"pattern": "SECRET|root:|PATH="}),
    *(("read_file", {"path": name}) for name in LINKS),
    *(("read_file", {"path": f"{name}/secret.txt"}) for name in LINKS),
    *(("write_file", {"path": name, "content": "mine"}) for name in LINKS),
    *(("write_file", {"path": f"{name}/new.txt", "content": "mine"}) for name in ("folder", "deep/a/b", "up")),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with what a malicious archive holds, links kept as `unzip` keeps them."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        for name, target in LINKS.items():
            entry = zipfile.ZipInfo(f"workspace/{name}")
            entry.external_attr = S_IFLNK << 16
            archive.writestr(entry, target)
    with zipfile.ZipFile(tmp_path / "evil.zip") as archive:
        for entry in archive.infolist():
            link = tmp_path / entry.filename
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(archive.read(entry).decode())
    return tmp_path / "workspace"


def test_no_tool_shows_or_changes_what_lies_outside(root: Path) -> None:
    session = Session(workspace_tools(root))
    for name, arguments in CALLS:
        try:
            shown = session.text(name, **arguments)
        except Exception as error:  # whatever the tool says of it
            shown = str(error)
        assert SECRET not in shown, (name, arguments)
        assert "root:" not in shown, (name, arguments)
    outside = root.parent / "outside"
    assert [file.name for file in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == SECRET
    assert not (root.parent / "new.txt").exists()
