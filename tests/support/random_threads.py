"""A thread to which random things happen, and what is seen of every step of it.

`python random_threads.py DATABASE ROLE` says the last word to the thread in a process of its own and
prints the request that it sends.
"""

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from compactions import SUMMARY, agent, look, small, summary, words, writes
from histories import histories
from longthread.graph import open_saver
from longthread.graph.scripted import ScriptedChatModel, call, say
from longthread.nodes.history.rebuild import REBUILT
from longthread.nodes.history.repair import repair
from longthread.nodes.history.speakers import head_length
from validity import wire

THREAD: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 300}
CHANNELS = ("messages", "todos", "tracker", "segments", "pruned_through")
Worker = Callable[[list[BaseMessage]], Any]
Operation = tuple[Any, ...]


def _growing(request: list[BaseMessage]) -> Any:
    """Writes all that it was shown, and more: what a worker does that appends to its last summary."""
    return writes(summary(str(request[1].text)))


def _marking(request: list[BaseMessage]) -> Any:
    if isinstance(request[-1], AIMessage) or len(request) > 2:
        return writes()
    return [call("read_file", path="a.py"), call("mark_read_required", path="b.py"), call("add_reference", path="a.py")]


def _failing(_request: list[BaseMessage]) -> Any:
    raise ValueError("the worker's server is out of order")


WORKERS: dict[str, Worker] = {
    "good": lambda _: writes(),
    "marking": _marking,
    "growing": _growing,
    "blank": lambda _: writes(" "),
    "plain": lambda _: SUMMARY,
    "one section": lambda _: writes("## Current Work\nSomething."),
    "unknown tool": lambda _: say("", call("remember", text="x")),
    "failing": _failing,
}

FILES = ("a.py", "b.py", "gone.py")
SAID = st.sampled_from(["go on", "and now the other one, please", "", "続けてください", "word " * 300])
LOOKS = st.lists(st.lists(st.sampled_from([5, 60, 400]), min_size=1, max_size=3), max_size=4)
OPERATIONS = st.one_of(
    st.tuples(st.just("say"), SAID, LOOKS),
    st.tuples(st.just("abandon"), SAID, LOOKS, st.integers(1, 8)),
    st.tuples(st.just("compact"), st.sampled_from(["", "keep the names"])),
    st.tuples(st.just("restart")),
    st.tuples(st.just("import"), histories()),
    st.tuples(st.just("plan"), st.sampled_from(["pending", "completed"])),
    st.tuples(st.just("read"), st.sampled_from(FILES)),
)


class Attempt(NamedTuple):
    """The state before and after one visit to the node `compact`."""

    before: dict[str, Any]
    after: dict[str, Any]


class World:
    """A thread in a file, with an agent that is made anew at each restart."""

    def __init__(self, database: Path, role: Literal["system", "user"], worker: str = "good") -> None:
        self.database, self.role, self.worker = database, role, worker
        self.sent: list[list[BaseMessage]] = []
        self.worked: list[list[BaseMessage]] = []
        self.steps: list[AIMessage] = []
        self.numbers = 0
        self.workspace = database.parent / "workspace"
        self.workspace.mkdir(exist_ok=True)
        for path in FILES[:2]:
            (self.workspace / path).write_text(f"first line of {path}\n{words(30)}\n")
        self.restart()

    def restart(self) -> None:
        """A new agent and a new saver over the same file, as in another process."""
        self.saver: Any = open_saver(self.database)
        self.graph = agent(
            ScriptedChatModel(self._answer, position="history", prefix="main"),
            small(
                compact_threshold=2_300,
                compact_request_threshold=2_500,
                prune_protected_tokens=300,
                prune_min_savings=150,
                worker_max_requests=5,
            ),
            ScriptedChatModel(self._work, prefix="worker"),
            [look],
            checkpointer=self.saver,
            system_prompt="You look at things.",
            system_role=self.role,
            workspace=self.workspace,
        )

    def _answer(self, request: list[BaseMessage]) -> AIMessage:
        self.sent.append(request)
        return self.steps.pop(0) if self.steps else say("Done with that.")

    def _work(self, request: list[BaseMessage]) -> Any:
        self.worked.append(request)
        return WORKERS[self.worker](request)

    def do(self, operation: Operation) -> list[Attempt]:
        """Let it happen; the attempts at a compaction that it brought."""
        before = self._newest()
        getattr(self, f"_{operation[0]}")(*operation[1:])
        return list(self._attempts(before))

    def _say(self, text: str, looks: list[list[int]] = []) -> None:  # noqa: B006  # read only
        self.steps = [say("I look.", *(call("look", tokens=n) for n in sizes)) for sizes in looks]
        self.graph.invoke({"messages": [("user", text)]}, THREAD)

    def _abandon(self, text: str, looks: list[list[int]], after: int) -> None:
        """The user says something and loses patience after so many steps of the graph."""
        self.steps = [say("", *(call("look", tokens=n) for n in sizes)) for sizes in looks]
        running: Any = self.graph.stream({"messages": [("user", text)]}, THREAD, durability="sync")
        for _ in islice(running, after):
            pass
        running.close()

    def _compact(self, instructions: str) -> None:
        self.graph.invoke({"compact_request": instructions}, THREAD)

    def _restart(self) -> None:
        self.saver.close()
        self.restart()

    def _import(self, messages: list[AnyMessage]) -> None:
        self.numbers += 1
        renamed = [m.model_copy(update={"id": f"{self.numbers}-{m.id}"}) for m in messages]
        self.graph.update_state(THREAD, {"messages": renamed})

    def _read(self, path: str) -> None:
        edit = call("edit_file", path=path, old="first", new=f"first {self._newest()}")
        self.steps = [say("", call("read_file", path=path)), say("", edit)]
        self.graph.invoke({"messages": [("user", f"mend {path}")]}, THREAD)

    def _plan(self, status: str) -> None:
        self.steps = [say("", call("todo_write", todos=[{"id": "1", "content": words(8), "status": status}]))]
        self.graph.invoke({"messages": [("user", "plan it")]}, THREAD)

    def _newest(self) -> str | None:
        return (self.graph.get_state(THREAD).config["configurable"]).get("checkpoint_id")

    def _attempts(self, since: str | None) -> Iterator[Attempt]:
        states = list(self.graph.get_state_history(THREAD))
        for after, before in pairwise(states):
            finished = (after.metadata or {}).get("source") == "loop" and "compact" not in after.next
            if before.next == ("compact",) and finished:
                yield Attempt(before.values, after.values)
            if before.config["configurable"]["checkpoint_id"] == since:
                break

    def values(self) -> dict[str, Any]:
        """The state now."""
        found: dict[str, Any] = self.graph.get_state(THREAD).values
        return found

    def last_word(self) -> list[Any]:
        """What the agent sends next, as it goes on the wire."""
        self.sent.clear()
        self._say("one more thing")
        return [wire(request) for request in self.sent]


def parts(attempt: Attempt) -> tuple[list[AnyMessage], list[AnyMessage], list[AnyMessage]]:
    """Of a committed history: the head, what was put in, the tail."""
    messages = attempt.after["messages"]
    start = head_length(messages)
    end = max(n + 1 for n, m in enumerate(messages) if m.additional_kwargs.get("source") in REBUILT)
    return messages[:start], messages[start:end], messages[end:]


def is_committed(attempt: Attempt) -> bool:
    """The attempt replaced the history."""
    return len(attempt.after.get("segments") or []) > len(attempt.before.get("segments") or [])


def stored(values: dict[str, Any]) -> str:
    """The channels that only a commit may replace, as JSON."""
    return json.dumps([values.get(name) for name in CHANNELS], default=lambda m: m.model_dump(), sort_keys=True)


def ids(messages: list[AnyMessage]) -> list[str | None]:
    """Who is there."""
    return [message.id for message in messages]


def once(attempt: Attempt) -> list[str | None]:
    """The ids of the history before, as the new one accounts for them: at the head, summarised, kept."""
    before = repair(attempt.before["messages"])
    head, _, tail = parts(attempt)
    segment = attempt.after["segments"][-1]
    summarised = before[len(head) : len(head) + segment["summarised"]]
    return [*ids(head), *ids(summarised), *ids(tail)]


def copied(database: Path, to: Path) -> Path:
    """The same thread in another file."""
    with sqlite3.connect(database) as source, sqlite3.connect(to) as target:
        source.backup(target)
    source.close()
    target.close()
    return to


if __name__ == "__main__":
    role: Any = sys.argv[2]
    print(json.dumps(World(Path(sys.argv[1]), role).last_word(), default=repr))
