import threading
from pathlib import Path

import pytest

from longthread.tools.errors import WorkspaceError
from longthread.tools.files import file_tools
from longthread.tools.tracker import content_hash
from longthread.tools.workspace import Workspace
from tool_calls import Session, tool_call


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    return tmp_path


def session(root: Path, max_result_tokens: int = 10_000) -> Session:
    return Session(file_tools(Workspace(root), max_result_tokens))


def test_a_read_shows_numbered_lines_and_is_tracked(root: Path) -> None:
    agent = session(root)
    message = agent.message("read_file", path="a.py")
    assert message.content == "1\tone\n2\ttwo\n3\tthree"
    assert message.additional_kwargs["summary"] == "read a.py lines 1-3 of 3"
    digest = content_hash(b"one\ntwo\nthree\n")
    assert agent.tracker == [{"path": "a.py", "hash": digest, "action": "read", "call": "c1", "known": True}]


def test_a_part_is_shown_with_where_to_go_on(root: Path) -> None:
    text = session(root).text("read_file", path="a.py", offset=2, limit=1)
    assert text == "2\ttwo\n[lines 2-2 of 3 shown; go on with offset=3]"


def test_a_long_file_is_cut_to_the_tokens_and_can_be_read_on(root: Path) -> None:
    (root / "long.txt").write_text("".join(f"some words in line {n}\n" for n in range(1, 5_001)))
    agent, offset, seen = session(root, max_result_tokens=20_000), 1, []
    while offset <= 5_000:
        lines = agent.text("read_file", path="long.txt", offset=offset).splitlines()
        shown = [line for line in lines if not line.startswith("[")]
        seen += [line.partition("\t")[2] for line in shown]
        offset += len(shown)
    assert seen == (root / "long.txt").read_text().splitlines()
    assert agent.calls > 1


def test_a_long_line_is_cut_with_a_note(root: Path) -> None:
    (root / "min.js").write_text("x" * 50_000)
    text = session(root).text("read_file", path="min.js")
    assert len(text) < 2_200
    assert "50000 characters in all" in text


def test_an_empty_file_says_so(root: Path) -> None:
    (root / "empty").touch()
    assert session(root).text("read_file", path="empty") == "[the file is empty]"


def test_a_name_with_a_newline_stays_on_one_line(root: Path) -> None:
    (root / "a\nb.txt").write_text("x\n")
    message = session(root).message("read_file", path="a\nb.txt")
    assert message.additional_kwargs["summary"] == r"read 'a\nb.txt' lines 1-1 of 1"


def test_a_new_file_is_written_and_then_known(root: Path) -> None:
    agent = session(root)
    assert agent.text("write_file", path="new/b.py", content="x = 1\ny = 2\n") == "wrote new/b.py (2 lines)"
    assert agent.record("new/b.py") == {
        "path": "new/b.py", "hash": content_hash(b"x = 1\ny = 2\n"), "action": "written", "call": "c1", "known": True
    }  # fmt: skip
    agent.message("edit_file", path="new/b.py", old="1", new="3")
    assert (root / "new" / "b.py").read_text() == "x = 3\ny = 2\n"


def test_an_edit_shows_a_diff_and_keeps_the_call_that_showed_the_text(root: Path) -> None:
    agent = session(root)
    agent.message("read_file", path="a.py")
    message = agent.message("edit_file", path="a.py", old="two\n", new="2\n2b\n")
    assert message.additional_kwargs["summary"] == "edited a.py (+2 -1)"
    assert message.content == "edited a.py (+2 -1)\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three"
    assert agent.record("a.py")["call"] == "c1"
    assert agent.record("a.py")["action"] == "edited"
    agent.message("edit_file", path="a.py", old="one", new="1")
    assert (root / "a.py").read_text() == "1\n2\n2b\nthree\n"


@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
def test_changing_an_unread_file_is_refused(root: Path, tool: str) -> None:
    args = {"content": "x"} if tool == "write_file" else {"old": "one", "new": "x"}
    with pytest.raises(WorkspaceError, match="has not been read"):
        session(root).message(tool, path="a.py", **args)
    assert (root / "a.py").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
def test_changing_a_file_that_changed_on_disk_is_refused(root: Path, tool: str) -> None:
    args = {"content": "x"} if tool == "write_file" else {"old": "one", "new": "x"}
    agent = session(root)
    agent.message("read_file", path="a.py")
    (root / "a.py").write_text("one, changed\n")
    with pytest.raises(WorkspaceError, match="changed on disk since it was read; read it again"):
        agent.message(tool, path="a.py", **args)
    agent.message("read_file", path="a.py")
    agent.message(tool, path="a.py", **args)


@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
def test_changing_a_file_whose_read_was_pruned_is_refused(root: Path, tool: str) -> None:
    args = {"content": "x"} if tool == "write_file" else {"old": "one", "new": "x"}
    agent = session(root)
    agent.message("read_file", path="a.py")
    agent.forget("c1")
    with pytest.raises(WorkspaceError, match="no longer in the conversation; read it again"):
        agent.message(tool, path="a.py", **args)
    assert agent.text("read_file", path="a.py").startswith("1\tone")
    agent.message(tool, path="a.py", **args)


def test_an_edit_that_a_kill_cut_off_after_the_disk_write_succeeds_with_the_same_result(root: Path) -> None:
    agent = session(root)
    agent.message("read_file", path="a.py")
    before = list(agent.tracker)
    first = agent.message("edit_file", path="a.py", old="two\n", new="")
    again = Session(list(agent.tools.values()), before)
    again.calls = 1
    assert again.message("edit_file", path="a.py", old="two\n", new="") == first
    assert again.tracker == agent.tracker
    assert (root / "a.py").read_text() == "one\nthree\n"


def test_a_write_that_a_kill_cut_off_after_the_disk_write_succeeds_with_the_same_result(root: Path) -> None:
    agent = session(root)
    agent.message("read_file", path="a.py")
    before = list(agent.tracker)
    first = agent.message("write_file", path="a.py", content="new\n")
    again = Session(list(agent.tools.values()), before)
    again.calls = 1
    assert again.message("write_file", path="a.py", content="new\n") == first
    assert again.tracker == agent.tracker


def test_an_edit_keeps_windows_line_endings(root: Path) -> None:
    (root / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    agent = session(root)
    assert agent.text("read_file", path="dos.txt") == "1\tone\n2\ttwo"
    agent.message("edit_file", path="dos.txt", old="one\ntwo\n", new="1\n2\n")
    assert (root / "dos.txt").read_bytes() == b"1\r\n2\r\n"


def test_a_file_that_is_not_utf8_is_shown_with_a_note_and_not_edited(root: Path) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9\n")
    agent = session(root)
    assert "not valid UTF-8" in agent.text("read_file", path="latin.txt")
    with pytest.raises(WorkspaceError, match="not valid UTF-8 and cannot be edited"):
        agent.message("edit_file", path="latin.txt", old="caf", new="x")
    assert (root / "latin.txt").read_bytes() == b"caf\xe9\n"


def test_replace_all_replaces_every_place(root: Path) -> None:
    agent = session(root)
    agent.message("read_file", path="a.py")
    with pytest.raises(WorkspaceError, match="2 times"):
        agent.message("edit_file", path="a.py", old="t", new="T")
    agent.message("edit_file", path="a.py", old="t", new="T", replace_all=True)
    assert (root / "a.py").read_text() == "one\nTwo\nThree\n"


def test_editing_a_missing_file_says_that_it_is_missing(root: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"does not exist; did you mean 'a\.py'"):
        session(root).message("edit_file", path="b.py", old="x", new="y")


def test_a_file_known_by_one_path_is_known_by_every_path(root: Path) -> None:
    (root / "link.py").symlink_to("a.py")
    agent = session(root)
    agent.message("read_file", path=str(root / "a.py"))
    agent.message("edit_file", path="link.py", old="one", new="1")
    assert [record["path"] for record in agent.tracker] == ["a.py"]


def test_of_edits_made_at_once_over_the_same_tracker_one_is_made_and_none_is_lost(root: Path) -> None:
    (root / "n.txt").write_text("".join(f"<{n}>\n" for n in range(8)))
    agent = session(root)
    agent.message("read_file", path="n.txt")
    results: list[str] = []

    def edit(n: int) -> None:
        call = tool_call(
            "edit_file", {"path": "n.txt", "old": f"<{n}>", "new": f"[{n}]"}, {"tracker": agent.tracker}, "x"
        )
        try:
            agent.tools["edit_file"].invoke(call)
            results.append("made")
        except WorkspaceError:
            results.append("refused")

    threads = [threading.Thread(target=edit, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (root / "n.txt").read_text().count("[") == results.count("made") == 1


async def test_the_tools_work_under_async(root: Path) -> None:
    tools = {tool.name: tool for tool in file_tools(Workspace(root))}
    result = await tools["read_file"].ainvoke(tool_call("read_file", {"path": "a.py"}, {}, "c1"))
    assert result.update["messages"][0].content.startswith("1\tone")


def test_the_tools_that_change_things_are_marked(root: Path) -> None:
    marked = {tool.name for tool in file_tools(Workspace(root)) if (tool.metadata or {}).get("mutates")}
    assert marked == {"write_file", "edit_file"}
