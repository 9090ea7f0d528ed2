"""Nothing that an async run does stops its event loop: files, searches, the tracker and a compaction go to threads."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster, BlockingError, blockbuster_ctx
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from longthread.graph.agent import create_agent
from longthread.graph.scripted import ScriptedChatModel, call, say
from longthread.nodes.settings import CompactionConfig

SECTIONS = ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
SUMMARY = "\n".join(f"## {section}\n- Much was read." for section in SECTIONS)

SMALL = CompactionConfig.for_context_window(6_000).model_copy(update={"prune_protected_tokens": 20_000})


@pytest.fixture(autouse=True)
def watched() -> Iterator[BlockBuster]:
    """As `langgraph dev`: a call that blocks the event loop raises."""
    with blockbuster_ctx() as guard:
        yield guard


async def test_a_blocking_call_would_be_noticed(tmp_path: Path) -> None:
    with pytest.raises(BlockingError):
        (tmp_path / "a").write_text("a")


async def run(folder: Path, steps: list[Any], **options: Any) -> dict[str, Any]:
    notes = [call("read_file", path="long.txt")], [call("mark_read_required", path="long.txt", limit=9)]
    worker = ScriptedChatModel([*notes, say("", call("write_summary", text=SUMMARY))], prefix="worker")
    model, saver = ScriptedChatModel([*steps, "Done."]), InMemorySaver()
    options = {
        "compaction": SMALL,
        "worker_model": worker,
        "checkpointer": saver,
        "allow_commands": "always",
        **options,
    }
    graph = await asyncio.to_thread(create_agent, model, workspace=folder, **options)
    await graph.ainvoke({"messages": [("user", "Go.")]}, {"configurable": {"thread_id": "t"}})
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    return dict(state.values)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Made while no loop runs."""
    (tmp_path / "long.txt").write_text("".join(f"line {n} of a file that is read more than once\n" for n in range(150)))
    return tmp_path


def errors(values: dict[str, Any]) -> list[str]:
    return [m.content for m in values["messages"] if getattr(m, "status", None) == "error"]


async def test_every_tool_of_the_workspace_leaves_the_loop_alone(folder: Path) -> None:
    looks = [call("list_files", pattern="*.txt"), call("grep", pattern="line 9"), call("read_file", path="long.txt")]
    changes = [
        call("write_file", path="new/a.txt", content="a\n"),
        call("edit_file", path="new/a.txt", old="a", new="b"),
        call("run_command", command="cat new/a.txt"),
    ]
    values = await run(folder, [looks, changes])
    assert errors(values) == []
    assert values["messages"][-2].content == "exit code 0\nb"


async def test_a_tracked_tool_leaves_the_loop_alone(folder: Path) -> None:
    @tool
    async def my_read(path: str) -> str:
        """Read a file."""
        return await asyncio.to_thread((folder / path).read_text)

    values = await run(folder, [call("my_read", path="long.txt")], tools=[my_read], tracked_tools={"my_read": "path"})
    assert errors(values) == []
    [record] = values["tracker"]
    assert record["hash"], "it was read for the tracker"


async def test_a_compaction_leaves_the_loop_alone(folder: Path) -> None:
    reads = [call("read_file", path="long.txt", offset=1 + n) for n in range(4)]
    values = await run(folder, [*reads])
    [segment] = values["segments"]
    assert segment["files"] == ["long.txt"]
    assert values["compaction"]["outcome"] == "committed"
