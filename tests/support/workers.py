"""A thread that is compacted once by a given worker, and what came of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import ask_sync
from compactions import Graph, agent, files, looks, small, values, words
from longthread.graph import ScriptedChatModel
from longthread.graph.scripted import call

Saver = BaseCheckpointSaver[Any]


def compacted(saver: Saver, by: ScriptedChatModel, folder: Path | None = None, **config: Any) -> Graph:
    """A thread of one turn, with a file read if there is a workspace, after the user asked for a compaction."""
    reads = [call("read_file", path="a.py")] if folder else []
    steps = [*reads, *looks(4, 150), words(150), "second"]
    if folder:
        files(folder, a="\n".join(words(8) for _ in range(25)), b="y = 2\n")
    graph = agent(steps, small(auto_read_budget=400, **config), by, checkpointer=saver, workspace=folder)
    ask_sync(graph, "mend the parser")
    ask_sync(graph, {"compact_request": ""})
    return graph


def outcome(graph: Graph) -> tuple[str, int]:
    status = values(graph)["compaction"]
    return status["outcome"], status.get("failures", 0)


def results(request: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in request if isinstance(message, ToolMessage)]
