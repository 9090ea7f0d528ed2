"""A run against the stand-in server, cut off after a number of stream events: `python served.py FOLDER URL EVENTS`."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from agents import Graph, shape, thread
from longthread.graph import create_agent, open_saver, resolve_model
from openai_server import Answer, Reply
from openai_wire import Body, Call

SUMS = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return add(a, a)\n"
PLAN: Any = [{"id": "1", "content": "mend add", "status": "in_progress"}]
DONE: Any = [{**PLAN[0], "status": "completed"}]
LOOK: tuple[Call, ...] = (("list_files", {}), ("read_file", {"path": "sums.py"}), ("grep", {"pattern": "a"}))
MEND: tuple[Call, ...] = (("edit_file", {"path": "sums.py", "old": "a - b", "new": "a + b"}), ("no_such_tool", {}))
NOTE: tuple[Call, ...] = (("write_file", {"path": "notes.md", "content": "mended\n"}), ("todo_write", {"todos": DONE}))
STEPS: list[Answer] = [
    Reply("I plan the work first.", calls=(("todo_write", {"todos": PLAN}),)),
    Reply("Then I look around.", calls=LOOK),
    Reply("Mend it.", calls=MEND),
    Reply("Note it.", calls=NOTE),
    "The function add is mended and noted down in notes.md.",
]


def answer(body: Body) -> Answer:
    """Decided by the request alone, so that a run that was cut off gets the same answers."""
    answered: int = sum(message["role"] == "assistant" for message in body["messages"])
    return STEPS[answered]


def agent(folder: Path, base_url: str) -> Graph:
    """The same agent in every process; the workspace is `folder / "project"`."""
    project = folder / "project"
    if not project.exists():
        project.mkdir(parents=True)
        (project / "sums.py").write_text(SUMS)
    model = resolve_model("openai:test", base_url=base_url)
    saver = open_saver(folder / "t.db")
    return create_agent(model, workspace=project, system_prompt="Be brief.", checkpointer=saver)


def events(graph: Graph, given: Any) -> Iterator[Any]:
    """The stream of a run."""
    modes: Any = ["messages", "updates", "custom"]
    return graph.stream(given, thread(), stream_mode=modes, version="v2", durability="sync")


def aevents(graph: Graph, given: Any) -> AsyncIterator[Any]:
    """The same in async."""
    modes: Any = ["messages", "updates", "custom"]
    return graph.astream(given, thread(), stream_mode=modes, version="v2", durability="sync")


def outcome(graph: Graph, folder: Path) -> dict[str, Any]:
    """All that must be the same at the end: history, todos, tracker, files, nothing left to do."""
    state = graph.get_state(thread())
    tracker = [(r["path"], r["hash"], r["action"], r["known"]) for r in state.values["tracker"]]
    files = {path.name: path.read_text() for path in sorted((folder / "project").iterdir())}
    left = {"todos": state.values["todos"], "tracker": tracker, "files": files, "tasks": state.tasks}
    return {"history": shape(state.values["messages"]), **left}


def main(folder: Path, base_url: str, stop_after: int) -> None:
    for number, _ in enumerate(events(agent(folder, base_url), {"messages": "mend add"}), start=1):
        if number == stop_after:
            os._exit(9)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
