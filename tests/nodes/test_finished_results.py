"""What becomes of a tool's output on its way into the history and its checkpoint."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from agents import Graph, ask_sync, history, thread
from longthread.graph import ScriptedChatModel, create_agent, open_saver
from longthread.graph.scripted import call
from longthread.tools.tokens import count_text
from longthread.tools.tracker import content_hash

MEGABYTES = "0123456789" * 1_000_000


def stored(folder: Path, output: Any, **options: Any) -> ToolMessage:
    """The result of a tool that returns `output`, as a new process finds it in the file."""

    def give() -> Any:
        return output

    kit = [StructuredTool.from_function(give, name="give", description="Give.", **options.pop("tool", {}))]
    with open_saver(folder / "t.db") as saver:
        ask_sync(agent(kit, saver, call("give"), **options), "go")
    with open_saver(folder / "t.db") as saver:
        found = history(agent(kit, saver))[2]
    assert isinstance(found, ToolMessage)
    return found


def agent(tools: list[Any], saver: Any, *calls: Any, **options: Any) -> Graph:
    return create_agent(ScriptedChatModel([*calls, "Done."]), tools, checkpointer=saver, **options)


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("a\x00b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("\udcff", "\ufffd"),
        ("", ""),
        (None, "null"),
        (7, "7"),
        ({"n": 2**70, "t": "ü\x00"}, '{"n": 1180591620717411303424, "t": "ü\\u0000"}'),
        ([1, "two"], '[1, "two"]'),
        (b"\xff\x00", "b'\\xff\\x00'"),
        ({1}, "{1}"),
    ],
)
def test_every_output_is_a_clean_text_that_the_checkpoint_holds(tmp_path: Path, output: Any, content: str) -> None:
    found = stored(tmp_path, output)
    assert (found.content, found.status) == (content, "success")
    assert found.additional_kwargs["summary"].startswith("give result, ")


class Odd:
    def __repr__(self) -> str:
        return "<odd \ud800>"


class Odder:
    def __repr__(self) -> str:
        raise ValueError("no")


def test_an_object_is_described(tmp_path: Path) -> None:
    assert stored(tmp_path, Odd()).content == "<odd \ufffd>"


def test_an_object_that_cannot_be_described_is_an_error_result(tmp_path: Path) -> None:
    assert stored(tmp_path, Odder()).status == "error"


def test_ten_megabytes_are_cut_head_and_tail_with_a_note(tmp_path: Path) -> None:
    found = stored(tmp_path, f"begin {MEGABYTES} end", max_result_tokens=500)
    text = str(found.content)
    assert text.startswith("begin 01234")
    assert text.endswith("89 end")
    assert "characters left out; ask the tool for a smaller part to see the rest" in text
    assert count_text(text) <= 500
    assert (tmp_path / "t.db").stat().st_size < 500_000


def test_a_result_at_the_limit_is_not_touched(tmp_path: Path) -> None:
    text = "word " * 100
    limit = count_text(text)
    assert stored(tmp_path, text, max_result_tokens=limit).content == text


def test_the_blocks_of_a_result_share_the_limit(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    texts = [{"type": "text", "text": f"{n} \x00" + "word " * 300} for n in range(5)]
    found = stored(tmp_path, [*texts, image], max_result_tokens=400)
    assert found.content[-1] == image
    whole = [block["text"] for block in found.content[:-1] if isinstance(block, dict)]
    assert whole[0] == "0 \ufffd" + "word " * 300
    assert sum(map(count_text, whole)) < 600
    assert all("left out" in text for text in whole[1:])


def test_an_artifact_is_stored_as_plain_values(tmp_path: Path) -> None:
    artifact = {"odd": Odd(), "text": "\x00", "big": 2**70, 5: (1, 2.5, b"raw", None, True)}
    found = stored(tmp_path, ("see the artifact", artifact), tool={"response_format": "content_and_artifact"})
    assert found.content == "see the artifact"
    assert found.artifact == {
        "odd": "<odd \ufffd>",
        "text": "\ufffd",
        "big": str(2**70),
        "5": [1, 2.5, b"raw", None, True],
    }


def test_a_message_of_the_tools_own_keeps_its_status_and_summary(tmp_path: Path) -> None:
    extra = {"summary": "all is well", "\x00": Odd()}
    given = ToolMessage("long story\x00", tool_call_id="?", status="error", additional_kwargs=extra)
    found = stored(tmp_path, given)
    assert (found.content, found.status, found.name) == ("long story\ufffd", "error", "give")
    assert found.additional_kwargs == {"summary": "all is well", "\ufffd": "<odd \ufffd>"}


def test_an_error_text_is_cleaned_and_cut(tmp_path: Path) -> None:
    @tool
    def fail() -> str:
        """Fail."""
        raise ValueError("\x00\ud800" + "no " * 5_000)

    with open_saver(tmp_path / "t.db") as saver:
        found = ask_sync(agent([fail], saver, call("fail"), max_result_tokens=100), "go")["messages"][2]
    assert found.content.startswith("Error: \ufffd\ufffdno no")
    assert count_text(found.content) <= 100


@tool
def my_read(path: str) -> str:
    """Read."""
    if path.startswith("missing"):
        raise FileNotFoundError(path)
    return "x = 1"


@tool
def my_edit(path: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
    """Edit."""
    told = ToolMessage("edited", tool_call_id=runtime.tool_call_id)
    return Command(update={"messages": [told, HumanMessage("look at it")]})


TRACKED: Any = {"my_read": "path", "my_edit": ("path", "edited")}


def tracked(folder: Path, *calls: Any) -> Any:
    with open_saver(folder / "t.db") as saver:
        graph = agent([my_read, my_edit], saver, *calls, workspace=folder, tracked_tools=TRACKED)
        ask_sync(graph, "go")
        return graph.get_state(thread()).values["tracker"]


def test_a_tracked_tool_is_seen_with_the_files_hash(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    [record] = tracked(tmp_path, call("my_read", "c1", path="./a.py"))
    assert record == {
        "path": "a.py",
        "hash": content_hash(b"x = 1"),
        "action": "read",
        "call": "c1",
        "known": True,
    }


def test_what_a_tracked_tool_read_may_be_edited_by_ours(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    records = tracked(tmp_path, call("my_read", path="a.py"), call("edit_file", path="a.py", old="1", new="2"))
    assert (tmp_path / "a.py").read_text() == "x = 2"
    assert [record["action"] for record in records] == ["edited"]


def test_a_tracked_tool_that_answers_by_command_is_seen_too(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    records = tracked(tmp_path, call("my_read", path="a.py"), call("my_edit", path="a.py"))
    assert [(record["path"], record["action"]) for record in records] == [("a.py", "edited")]


def test_a_tracked_tool_that_failed_or_named_no_path_is_not_seen(tmp_path: Path) -> None:
    assert tracked(tmp_path, call("my_read", path="missing.py"), call("my_read", path=5)) == []


def test_a_path_outside_the_workspace_is_tracked_by_its_name(tmp_path: Path) -> None:
    [record] = tracked(tmp_path, call("my_read", path="https://example.org/a"))
    assert (record["path"], record["hash"]) == ("https://example.org/a", "")
