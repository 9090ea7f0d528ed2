"""A long run with many compactions, and what each loop of it costs."""

import sqlite3
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from compactions import SUMMARY, small, words, writes
from longthread.graph import CompactionConfig, create_agent, open_saver
from longthread.graph.parts import all_tools
from longthread.graph.scripted import ScriptedChatModel, call, say, scripted_tokens

THRESHOLD = 2_500
TURN = 50
"""Loops in a turn."""
CONFIG = small(
    compact_request_threshold=THRESHOLD,
    retained_tokens=400,
    prune_protected_tokens=600,
    prune_min_savings=300,
)
Work = Callable[[], int]


class Loop(NamedTuple):
    """What stood when a loop's request was sent."""

    seconds: float
    cpu: float
    """Seconds of this process, which others do not blur."""
    work: int
    """Whatever the test counts."""
    tokens: int
    """Of the request, tool schemas included."""


class LongRun:
    """`loops` calls of one tool with results of `size` tokens, in turns of fifty, over a SQLite file."""

    def __init__(
        self,
        database: Path,
        loops: int,
        *,
        size: int = 60,
        config: CompactionConfig | None = CONFIG,
        work: Work = lambda: 0,
    ) -> None:
        self.database, self.loops, self.size, self.work = database, loops, size, work
        self.seen: list[Loop] = []
        self.left = 0
        tools = [_looking(size)]
        self.schemas = scripted_tokens([], [convert_to_openai_tool(each) for each in all_tools(tools, None, {})])
        self.saver: Any = open_saver(database)
        self.graph = create_agent(
            ScriptedChatModel(self._answer, position="history", prefix="main"),
            tools,
            compaction=config,
            worker_model=ScriptedChatModel(lambda _: writes(SUMMARY), prefix="worker"),
            checkpointer=self.saver,
        )

    def run(self) -> "LongRun":
        """All turns."""
        config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 1_000}
        for turn in range(self.loops // TURN):
            self.left = TURN
            self.graph.invoke({"messages": [("user", f"This is turn {turn}, please look.")]}, config)
        self.values: dict[str, Any] = self.graph.get_state(config).values
        return self

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        self.left -= 1
        if self.left < 0:
            return say("Enough for now.")
        tokens = scripted_tokens(messages) + self.schemas
        self.seen.append(Loop(time.perf_counter(), time.process_time(), self.work(), tokens))
        return say(f"I look at {len(self.seen)}.", call("look", number=len(self.seen)))

    def tenths(self, of: Callable[[Loop], float]) -> list[float]:
        """What each tenth of the run added to something that only grows, per loop."""
        step = len(self.seen) // 10
        marks = [of(self.seen[min(n * step, len(self.seen) - 1)]) for n in range(11)]
        return [(after - before) / step for before, after in pairwise(marks)]

    def bytes_in_tenths(self) -> list[int]:
        """What the rows of the thread hold, by tenths of the run."""
        with sqlite3.connect(self.database) as rows:
            checkpoints = rows.execute("SELECT length(checkpoint) + length(metadata) FROM checkpoints ORDER BY rowid")
            stored = _tenths([size for (size,) in checkpoints.fetchall()])
            writes = rows.execute("SELECT length(value) FROM writes ORDER BY rowid")
            written = _tenths([size for (size,) in writes.fetchall()])
        rows.close()
        return [sum(part) + sum(other) for part, other in zip(stored, written, strict=True)]

    def file_size(self) -> int:
        """Bytes of the file once it is closed."""
        self.saver.close()
        return self.database.stat().st_size


def _tenths(values: list[int]) -> list[list[int]]:
    step = -(-len(values) // 10)
    return [values[n * step : (n + 1) * step] for n in range(10)]


def _looking(size: int) -> BaseTool:
    @tool
    def look(number: int) -> str:
        """Look at something."""
        return f"Number {number}: {words(size, 'see')}"

    return look
