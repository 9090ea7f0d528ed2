"""Kills the run of `thirty_loops` with SIGKILL and resumes it in new processes; prints one JSON object.

`python kill_loops.py FOLDER STORE every N`: each process dies after its N-th write, until the run
is done. `python kill_loops.py FOLDER STORE random N`: N runs, each killed at one random moment;
a run that ended before its moment does not count.
STORE is `sqlite` or the address of a Postgres server. Forked, so that a kill costs little.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from longthread.graph import transcript
from thirty_loops import CONFIG, TASK, Log, agent, fingerprint, repeated, texts, watched, write_workspace


class Place:
    """The store, the files and the log of one run."""

    def __init__(self, folder: Path, store: str) -> None:
        folder.mkdir(parents=True)
        self.where = folder / "t.db" if store == "sqlite" else _schema(store)
        self.workspace, self.log, self.found = write_workspace(folder / "w"), Log(folder / "log"), folder / "found"

    def run(self, cut: Callable[[int], None] = lambda _: None) -> None:
        """Begin the run or go on with it, to its end or the kill."""
        saver = watched(self.where, self.log, cut)
        graph = agent(self.workspace, self.log, saver)
        begun = graph.get_state(CONFIG).created_at
        graph.invoke(None if begun else TASK, CONFIG, durability="sync")

    def look(self) -> None:
        """Write down what is stored now."""
        saver = watched(self.where, self.log)
        now = agent(self.workspace, self.log, saver).get_state(CONFIG)
        kinds = [message.additional_kwargs.get("source") for message in transcript(saver, "t")]
        seen = {
            "fingerprint": fingerprint(now.values) if now.values else "",
            "done": now.tasks == () and bool(now.values),
            "segments": len(now.values.get("segments", ())),
            "reminders": kinds.count("todo_reminder"),
            "files": [text.splitlines()[0] for text in texts(self.workspace)],
        }
        self.found.write_text(json.dumps(seen))

    def seen(self) -> dict[str, Any]:
        """What `look` writes."""
        assert forked(self.look) == 0
        found: dict[str, Any] = json.loads(self.found.read_text())
        return found


def _schema(server: str) -> str:
    import psycopg

    name = f"kill_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}&options=-csearch_path%3D{name}"


def started(work: Callable[[], None]) -> int:
    """A child that does it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def ended(child: int) -> int:
    """The signal that ended it, 0 for none, below 0 for a failure."""
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def forked(work: Callable[[], None]) -> int:
    """Do it in a child."""
    return ended(started(work))


def killed_every(place: Place, writes: int) -> dict[str, int]:
    """Processes that each die after so many writes; how many kills it took, and what was done again."""

    def cut(number: int) -> None:
        if number == writes:
            os.kill(os.getpid(), signal.SIGKILL)

    kills, again = 0, 0
    before = place.log.lines()
    while (how := forked(lambda: place.run(cut))) == signal.SIGKILL:
        kills += 1
        lines = place.log.lines()
        again += len(repeated(before, lines[len(before) :]))
        before = lines
    assert how == 0
    return {"kills": kills, "repeats": again + len(repeated(before, place.log.lines()[len(before) :]))}


def killed_once(place: Place, seconds: float) -> dict[str, int]:
    """One kill at a moment, and the resume."""
    child = started(place.run)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    kills = int(ended(child) == signal.SIGKILL)
    before = place.log.lines()
    assert forked(place.run) == 0
    return {"kills": kills, "repeats": len(repeated(before, place.log.lines()[len(before) :]))}


def main(folder: Path, store: str, way: str, number: int) -> None:
    """The kills, compared with a run that nobody disturbed."""
    whole, began = Place(folder / "whole", store), time.monotonic()
    assert forked(whole.run) == 0
    took, expected = time.monotonic() - began, whole.seen()
    found = {"kills": 0, "repeats": 0, "losses": 0, "runs": 0}
    while found["runs"] < (1 if way == "every" else 2 * number) and found["kills"] < number:
        place = Place(folder / f"{way}-{found['runs']}", store)
        moment = took * random.Random(found["runs"]).uniform(0.05, 0.95)
        one = killed_every(place, number) if way == "every" else killed_once(place, moment)
        took *= 1 if one["kills"] else 0.9  # the machine is quicker now
        found = {**found, **{key: found[key] + one[key] for key in one}, "runs": found["runs"] + 1}
        found["losses"] += place.seen() != expected
    print(json.dumps({**found, "whole": expected}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
