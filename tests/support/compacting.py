"""A run whose compaction worker takes two steps; as a script: `compacting.py STORE` is killed in the second.

Both models read from the history where they are, so that another process goes on there.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage, ToolCall
from langgraph.checkpoint.base import BaseCheckpointSaver

from longthread.graph import CompactionConfig, create_agent, open_saver
from longthread.graph.scripted import ScriptedChatModel, call

SUMMARY = "\n".join(
    f"## {section}\n- {section.lower()}"
    for section in ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
)
TOO_LONG = "## Completed Tasks\n" + "word " * 600
CONFIG = CompactionConfig(
    compact_threshold=700, retained_tokens=200, summary_max_tokens=200, pinned_user_tokens=50, auto_read_budget=0
)
THREAD: Any = {"configurable": {"thread_id": "t"}}
Step = Callable[[list[BaseMessage]], ToolCall]


def shorten(_: list[BaseMessage]) -> ToolCall:
    return call("write_summary", text=SUMMARY)


def die(_: list[BaseMessage]) -> ToolCall:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("the signal ends the process")


def compacting(saver: BaseCheckpointSaver[Any], second: Step) -> tuple[Any, ScriptedChatModel]:
    """The agent and its worker's model; the worker first writes too long a summary, then takes `second`."""
    model = ScriptedChatModel(["word " * 700, "On."], position="history")
    script: list[Step | ToolCall] = [call("write_summary", text=TOO_LONG), second]
    worker = ScriptedChatModel(script, prefix="worker", position="history")
    return create_agent(model, worker_model=worker, compaction=CONFIG, checkpointer=saver), worker


if __name__ == "__main__":
    with open_saver(sys.argv[1]) as opened:
        compacting(opened, die)[0].invoke({"messages": "tell me"}, THREAD, durability="sync")
