"""Parent graphs around an agent; as a script: `parents.py STORE` is killed while the agent inside compacts."""

import sys
from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from agents import Graph
from compacting import CONFIG, SUMMARY, THREAD, TOO_LONG, Step, die
from longthread.graph import CompactionConfig, as_node, create_agent, open_saver
from longthread.graph.scripted import ScriptedChatModel, call

Wrap = Callable[[Graph], Any]
WRAPS: dict[str, Wrap] = {
    "plain": lambda graph: graph,
    "replace": as_node,
    "last": lambda graph: as_node(graph, "last"),
    "replace, fresh": lambda graph: as_node(graph, memory=False),
    "last, fresh": lambda graph: as_node(graph, "last", memory=False),
}
"""Every way to make an agent a node."""


def parent(node: Any, saver: BaseCheckpointSaver[Any] | None = None, schema: type[Any] = MessagesState) -> Graph:
    """A graph of one node, named `agent`."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(schema)
    builder.add_node("agent", node)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=saver)


def summarising(answers: Any, config: CompactionConfig = CONFIG, **options: Any) -> tuple[Graph, ScriptedChatModel]:
    """An agent whose worker writes a summary at once, and the worker's model."""
    worker = ScriptedChatModel(lambda _: call("write_summary", text=SUMMARY), prefix="worker")
    model = ScriptedChatModel(answers, usage=False)
    return create_agent(model, worker_model=worker, compaction=config, **options), worker


def resumable(second: Step) -> tuple[Graph, ScriptedChatModel]:
    """An agent that compacts after its first answer, and its worker's model; the worker takes two steps."""
    script: list[Any] = [call("write_summary", text=TOO_LONG), second]
    worker = ScriptedChatModel(script, prefix="worker", position="history")
    model = ScriptedChatModel(["word " * 700, "On."], position="history")
    return create_agent(model, worker_model=worker, compaction=CONFIG), worker


if __name__ == "__main__":
    with open_saver(sys.argv[1]) as opened:
        killed = parent(WRAPS[sys.argv[2]](resumable(die)[0]), opened)
        killed.invoke({"messages": [("user", "tell me")]}, THREAD, durability="sync")
