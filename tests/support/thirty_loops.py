"""A run of thirty loops with edits, parallel tools, a reminder and two compactions, all of it logged.

The log is a file of JSON lines, written with one call each, so that it survives a SIGKILL: what the
models were asked, which tools ran, what the saver has stored.
"""

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool

from interruptions import CHANNELS, fingerprint, worker_steps
from longthread.graph import CompactionConfig, create_agent, open_saver
from longthread.graph.scripted import ScriptedChatModel, call, say
from validity import wire

__all__ = ["CHANNELS", "fingerprint"]

LOOPS = 30
CONFIG: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 1_000}
TASK = {"messages": [{"role": "user", "content": "Count every file up. Never touch keep.py.", "id": "user-1"}]}
FILES = ("first.py", "second.py", "third.py")
"""As the worker of `interruptions` reads them."""
TODOS = [{"id": "1", "content": "count up", "status": "in_progress"}]
COMPACTION = CompactionConfig(
    compact_request_threshold=4_000,
    retained_tokens=800,
    auto_read_budget=800,
    summary_max_tokens=300,
    pinned_user_tokens=100,
    prune_protected_tokens=10_000,
)


class Log:
    """The log of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, kind: str, what: str) -> None:
        """One line."""
        line = json.dumps([kind, what]) + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line.encode())
        os.close(file)

    def lines(self) -> list[tuple[str, str]]:
        """All lines so far."""
        return [tuple(json.loads(line)) for line in self.path.read_text().splitlines()] if self.path.exists() else []


def steps(log: Log) -> list[Callable[[list[BaseMessage]], AIMessage]]:
    """Plan; in each loop a read and two calls of `work` side by side, then an edit; answer."""
    made = [say("I plan.", call("todo_write", todos=TODOS))]
    counts = dict.fromkeys(FILES, 0)
    for n in range(LOOPS):
        path = FILES[n % 3]
        made.append(say(f"loop {n}", call("read_file", path=path, limit=3), *_working(n)))
        made.append(say("", _edit(path, counts[path])))
        counts[path] += 1
    made.append(say("All counted."))
    return [_logged(f"main-{n}", step, log) for n, step in enumerate(made, 1)]


def _working(n: int) -> list[Any]:
    return [call("work", n=2 * n), call("work", n=2 * n + 1)]


def _edit(path: str, count: int) -> Any:
    return call("edit_file", path=path, old=f"count = {count}\n", new=f"count = {count + 1}\n")


def _logged(identity: str, step: AIMessage, log: Log) -> Callable[[list[BaseMessage]], AIMessage]:
    def answer(_: list[BaseMessage]) -> AIMessage:
        log.add("asked", identity)
        return step

    return answer


def write_workspace(folder: Path) -> Path:
    """The files to count up."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in FILES:
        (folder / path).write_text("count = 0\n" + "".join(f"value_{n} = {n}\n" for n in range(80)))
    return folder


def texts(folder: Path) -> list[str]:
    """What stands in the files."""
    return [(folder / path).read_text() for path in FILES]


def agent(folder: Path, log: Log, saver: Any) -> Any:
    """The same agent in every process."""
    writes = worker_steps()

    def work(n: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        log.add("ran", tool_call_id)
        return f"result {n}: " + "see " * 60

    def summarise(messages: list[BaseMessage]) -> AIMessage:
        log.add("asked", f"worker {_digest(messages)}")
        return writes[sum(isinstance(message, AIMessage) for message in messages)]

    return create_agent(
        ScriptedChatModel(steps(log), position="history", prefix="main"),
        [StructuredTool.from_function(work, name="work", description="Work.")],
        workspace=folder,
        compaction=COMPACTION,
        worker_model=ScriptedChatModel(summarise, prefix="worker"),
        checkpointer=saver,
    )


def _digest(messages: Any) -> str:
    return hashlib.sha256(json.dumps(wire(messages), default=str).encode()).hexdigest()[:16]


def watched(where: Any, log: Log, cut: Callable[[int], None] = lambda _: None) -> Any:
    """A saver that logs what it has stored; `cut(n)` is called after its n-th write."""
    saver: Any = open_saver(where)
    numbers = iter(range(1, 100_000))

    def around(write: Any, holds: bool) -> Any:
        @functools.wraps(write)
        def counted(config: Any, what: Any, *args: Any, **kwargs: Any) -> Any:
            written = write(config, what, *args, **kwargs)
            for identity in stored(config, what) if holds else ():
                log.add("stored", identity)
            cut(next(numbers))
            return written

        return counted

    saver.put, saver.put_writes = around(saver.put, holds=False), around(saver.put_writes, holds=True)
    return saver


def stored(config: Any, writes: Any) -> Iterator[str]:
    """Ids of the answers, and of the calls whose results, were written; of the worker that it has answered."""
    within = config["configurable"].get("checkpoint_ns", "")
    for channel, value in writes:
        if within and channel == "log":
            yield "worker"
        for message in value if isinstance(value, list) else [value]:
            if isinstance(message, ToolMessage):
                yield message.tool_call_id
            elif isinstance(message, AIMessage):
                yield str(message.id)


def repeated(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> list[str]:
    """What was asked or run after a kill although its outcome had been stored before."""
    finished, waiting = set(), ""
    for kind, what in before:
        if kind == "asked":
            waiting = what
        elif kind == "stored":
            finished.add(waiting if what == "worker" else what)
    return [what for kind, what in after if kind in ("asked", "ran") and what in finished]
