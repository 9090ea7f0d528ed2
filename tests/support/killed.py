"""An agent in a process of its own that dies in the middle of a tool, twice: `python killed.py FOLDER [async]`."""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from agents import Graph, thread
from longthread.graph import ScriptedChatModel, create_agent, open_saver
from longthread.graph.scripted import call

PARALLEL = [call("work", "c1", n=1), call("die", "c2"), call("work", "c3", n=3)]
ORDERED = [call("change", "c4", n=4), call("change", "c5", n=5), call("die", "c6"), call("change", "c7", n=7)]


def agent(folder: Path) -> Graph:
    """The same agent in every process."""
    model = ScriptedChatModel([PARALLEL, ORDERED, "Done."], position="history")
    tracked: Any = {"change": ("n", "edited")}
    return create_agent(model, tools(folder), tracked_tools=tracked, checkpointer=open_saver(folder / "t.db"))


def tools(folder: Path) -> list[BaseTool]:
    """Tools that log what they do; every other `die` ends the process."""

    def log(text: str) -> str:
        with (folder / "log").open("a") as file:
            file.write(f"{text}\n")
        return text

    def work(n: int) -> str:
        return log(f"work {n}")

    def change(n: int) -> str:
        return log(f"change {n}")

    def die() -> str:
        log("die")
        if (folder / "log").read_text().count("die") % 2:
            time.sleep(0.3)  # what runs beside it finishes
            os._exit(9)
        return "survived"

    return [StructuredTool.from_function(f, name=f.__name__, description="Work.") for f in (work, change, die)]


def main(folder: Path, way: str) -> None:
    graph = agent(folder)
    given = None if (folder / "log").exists() else {"messages": "go"}
    if way == "async":
        asyncio.run(graph.ainvoke(given, thread(), durability="sync"))
    else:
        graph.invoke(given, thread(), durability="sync")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
