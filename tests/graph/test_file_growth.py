"""The file of a long thread grows in proportion to what was said, not with its square."""

from pathlib import Path

import pytest
from langchain_core.tools import StructuredTool

from agents import thread
from longthread.graph import create_agent, open_saver
from longthread.graph.scripted import ScriptedChatModel, call


def grown(folder: Path, loops: int, size: int) -> int:
    """Bytes on disk after so many loops with results of that size."""
    folder.mkdir()
    give = StructuredTool.from_function(lambda: "x y " * (size // 4), name="give", description="Give.")
    with open_saver(folder / "t.db") as saver:
        graph = create_agent(ScriptedChatModel([*[call("give")] * loops, "Done."]), [give], checkpointer=saver)
        graph.invoke({"messages": [("user", "go")]}, {**thread(), "recursion_limit": 5_000}, durability="sync")
    return sum(file.stat().st_size for file in folder.glob("t.db*"))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1_000, 10_000])
def test_twice_the_loops_are_twice_the_file(tmp_path: Path, size: int) -> None:
    half, whole = grown(tmp_path / "half", 50, size), grown(tmp_path / "whole", 100, size)
    assert whole < 2.3 * half


@pytest.mark.slow
def test_longer_results_cost_their_own_length(tmp_path: Path) -> None:
    short, long = grown(tmp_path / "short", 60, 1_000), grown(tmp_path / "long", 60, 10_000)
    assert long - short < 1.6 * 60 * 9_000
