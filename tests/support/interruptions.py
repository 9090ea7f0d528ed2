"""A run with one compaction, cut off at a chosen write of its saver, and everything that is asked of it afterwards.

Requests and writes are logged to a file, line by line, so that the log survives a SIGKILL.
"""

import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from longthread.graph import CompactionConfig, create_agent, open_saver
from longthread.graph.scripted import ScriptedChatModel, call, say
from validity import wire

Log = Callable[..., None]
Line = dict[str, Any]
THREAD: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}
TASK = {"messages": [("user", "Mend the second file. Never touch the first one.")]}
FILES = ("first.py", "second.py", "third.py")
SUMMARY = """## Completed Tasks
### Reading
All files are read.

## Active Task
### Mending
The second file is next.

## Key Decisions

## User Directives
- "Never touch the first one."

## Current Work
Mending."""
RETAINED = 800
TODOS = [{"id": "1", "content": "mend the second file", "status": "in_progress"}]


def main_steps() -> list[AIMessage]:
    """Plan, read, mend; the compaction comes before the request after the last read."""
    reads = [say(f"I read {path}.", call("read_file", path=path)) for path in FILES]
    edit = call("edit_file", path="second.py", old="value_7 = 7\n", new="value_7 = 8\n")
    return [say("", call("todo_write", todos=TODOS)), *reads, say("", edit), say("Mended.")]


def worker_steps() -> list[AIMessage]:
    """Every node of the worker takes its turn: it reads, marks, stops too early, and writes when it is asked again."""
    return [
        say("", call("read_file", path="second.py"), call("read_file", path="third.py")),
        say("", call("mark_read_required", path="second.py")),
        say("I think that is all."),
        say("", call("write_summary", text=SUMMARY)),
    ]


def logger(path: Path) -> Log:
    """Appends one JSON line at a time."""

    def log(**entry: Any) -> None:
        with path.open("a") as file:
            file.write(f"{json.dumps(entry)}\n")

    return log


def read_log(path: Path) -> list[Line]:
    """The lines so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write_workspace(folder: Path) -> Path:
    """Three files of about 500 tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in FILES:
        (folder / path).write_text("".join(f"value_{n} = {n}\n" for n in range(150)))
    return folder


def agent(folder: Path, log: Log, saver: Any, retained: int = RETAINED, seconds: float = 0) -> Any:
    """The agent over the files of `folder`; every request of its two models is logged and takes `seconds`."""
    write = worker_steps()

    def work(messages: list[BaseMessage]) -> AIMessage:
        log(request="worker", hash=_digest(messages))
        time.sleep(seconds)
        return write[sum(isinstance(message, AIMessage) for message in messages)]

    return create_agent(
        ScriptedChatModel([_logged(step, log, seconds) for step in main_steps()], position="history", prefix="main"),
        workspace=folder,
        compaction=CompactionConfig(
            compact_request_threshold=2_700,
            retained_tokens=retained,
            auto_read_budget=800,
            summary_max_tokens=300,
            pinned_user_tokens=100,
            prune_protected_tokens=10_000,
        ),
        worker_model=ScriptedChatModel(work, prefix="worker"),
        checkpointer=saver,
    )


def _logged(step: AIMessage, log: Log, seconds: float) -> Callable[[list[BaseMessage]], AIMessage]:
    def answer(messages: list[BaseMessage]) -> AIMessage:
        log(request="main", hash=_digest(messages))
        time.sleep(seconds)
        return step

    return answer


def _digest(messages: Any) -> str:
    return hashlib.sha256(json.dumps(wire(messages), default=str).encode()).hexdigest()[:16]


def watched(path: Path, log: Log, cut: Callable[[int, str], None] = lambda _n, _when: None) -> Any:
    """A saver whose writes are logged and counted from 1; `cut(n, "before" | "after")` is called around each."""
    saver: Any = open_saver(path)
    numbers = iter(range(1, 10_000))

    def around(write: Any, name: str) -> Any:
        @functools.wraps(write)
        def counted(config: Any, what: Any, *args: Any, **kwargs: Any) -> Any:
            number = next(numbers)
            cut(number, "before")
            written = write(config, what, *args, **kwargs)
            channels = [channel for channel, _ in what] if name == "put_writes" else []
            log(write=name, ns=config["configurable"].get("checkpoint_ns", ""), channels=channels)
            cut(number, "after")
            return written

        return counted

    saver.put, saver.put_writes = around(saver.put, "put"), around(saver.put_writes, "put_writes")
    return saver


def finished_requests(lines: list[Line]) -> list[Line]:
    """Requests whose answer was written before the run was cut off."""
    finished: list[Line] = []
    waiting: Line | None = None
    for line in lines:
        if "request" in line:
            waiting = line
        elif waiting and _holds_answer(line, waiting["request"]):
            finished.append(waiting)
            waiting = None
    return finished


def _holds_answer(line: Line, who: str) -> bool:
    channel, is_there = ("log", line["ns"] != "") if who == "worker" else ("messages", line["ns"] == "")
    return bool(is_there and channel in line["channels"])


def requests(lines: list[Line], who: str | None = None) -> list[str]:
    """Hashes of the requests in order: all, or those of `"main"` or `"worker"`."""
    return [line["hash"] for line in lines if "request" in line and who in (None, line["request"])]


CHANNELS = ("messages", "todos", "tracker", "segments", "pruned_through")


def fingerprint(values: dict[str, Any]) -> str:
    """The channels that a compaction replaces, without what differs from run to run: checkpoint and namespace."""
    text = json.dumps([values.get(channel) for channel in CHANNELS], default=lambda message: message.model_dump())
    cleaned = json.loads(text, object_hook=_without_places)
    return hashlib.sha256(json.dumps(cleaned, sort_keys=True).encode()).hexdigest()[:16]


def _without_places(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in ("compacted_from", "worker_namespace")}


def every_fingerprint(graph: Any) -> list[str]:
    """Of every checkpoint, oldest first."""
    return [fingerprint(state.values) for state in reversed(list(graph.get_state_history(THREAD)))]


def worker_plans(graph: Any, saver: Any) -> list[Any]:
    """What each worker of the thread was begun for."""
    found = (graph.get_state({"configurable": {"thread_id": "t", "checkpoint_ns": ns}}) for ns in _namespaces(saver))
    return [plan for state in found if (plan := state.values.get("plan"))]


def _namespaces(saver: Any) -> Iterator[str]:
    seen = {item.config["configurable"]["checkpoint_ns"] for item in saver.list({"configurable": {"thread_id": "t"}})}
    return iter(sorted(ns for ns in seen if ns.startswith("compact:")))
