"""Runs the thread of `interruptions` in forked processes, kills each with SIGKILL at a write, and resumes it.

`python kill_matrix.py FOLDER DURABILITY WHEN STEP SECONDS` prints one JSON object. One process
imports everything and forks, so that a kill and its resume cost a tenth of a second. WHEN is
`before` or `after`, STEP 1 for every write from just before the worker to just after the commit, 3
for every third, SECONDS what each request takes.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interruptions import (
    RETAINED,
    TASK,
    THREAD,
    agent,
    every_fingerprint,
    fingerprint,
    finished_requests,
    logger,
    read_log,
    requests,
    watched,
    worker_plans,
    write_workspace,
)

ROOMIER = 1_400
"""Retained tokens after a kill: a plan that was made again would keep more messages than the one begun."""


class Place:
    """The files of one run."""

    def __init__(self, folder: Path, durability: Any, seconds: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.database, self.log, self.found = folder / "t.db", folder / "log", folder / "found.json"
        self.workspace, self.durability, self.seconds = write_workspace(folder / "workspace"), durability, seconds

    def run(self, given: Any, cut: Callable[[int, str], None], retained: int = RETAINED) -> None:
        """Run or resume the thread to its end, or to the kill."""
        saver = watched(self.database, logger(self.log), cut)
        graph = agent(self.workspace, logger(self.log), saver, retained, self.seconds)
        graph.invoke(given, THREAD, durability=self.durability)

    def look(self) -> dict[str, Any]:
        """What is stored now."""
        saver = watched(self.database, logger(self.log.with_name("unused")))
        graph = agent(self.workspace, logger(self.log), saver)
        state = graph.get_state(THREAD)
        return {
            "fingerprint": fingerprint(state.values),
            "every": every_fingerprint(graph),
            "done": state.tasks == () and bool(state.values),
            "plans": worker_plans(graph, saver),
            "segments": [
                {"summarised": s["summarised"], "through": s["through"]} for s in state.values.get("segments") or []
            ],
        }


def never(_number: int, _when: str) -> None:
    """No kill."""


def kill_at(at: int, when: str) -> Callable[[int, str], None]:
    """A SIGKILL at the write of that number."""

    def cut(number: int, now: str) -> None:
        if (number, now) == (at, when):
            os.kill(os.getpid(), signal.SIGKILL)

    return cut


def forked(work: Callable[[], None]) -> int:
    """Do it in a child; the signal that ended it, 0 for none."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def undisturbed(place: Place) -> dict[str, Any]:
    """The run without a kill: what each kill is compared with."""

    def work() -> None:
        place.run(TASK, never)
        place.found.write_text(json.dumps(place.look()))

    assert forked(work) == 0
    return {**json.loads(place.found.read_text()), "log": read_log(place.log)}


def killed(place: Place, at: int, when: str) -> dict[str, Any]:
    """One kill and the resume after it."""
    ended = forked(lambda: place.run(TASK, kill_at(at, when)))
    before = read_log(place.log)

    def work() -> None:
        stored = place.look()
        place.run(None, never, ROOMIER if stored["plans"] else RETAINED)
        place.found.write_text(json.dumps({"stored": stored, "final": place.look()}))

    assert forked(work) == 0
    again = read_log(place.log)[len(before) :]
    finished = finished_requests(before)
    return {
        "at": at,
        "killed": ended == signal.SIGKILL,
        **json.loads(place.found.read_text()),
        "finished": requests(finished),
        "finished_by_worker": len(requests(finished, "worker")),
        "again": requests(again),
        "again_by_worker": len(requests(again, "worker")),
    }


def around_the_worker(log: list[dict[str, Any]]) -> range:
    """Numbers of the writes from just before the worker's first to just after the commit."""
    writes = [line for line in log if "write" in line]
    first = next(n for n, line in enumerate(writes, 1) if line["ns"])
    commit = next(n for n, line in enumerate(writes, 1) if "segments" in line["channels"])
    return range(first - 1, commit + 3)


def main() -> None:
    """The matrix, as JSON."""
    folder, durability, when, step, seconds = Path(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4]), float(sys.argv[5])
    whole = undisturbed(Place(folder / "whole", durability, seconds))
    numbers = list(around_the_worker(whole["log"]))[::step]
    kills = [killed(Place(folder / f"kill-{at}", durability, seconds), at, when) for at in numbers]
    print(json.dumps({"whole": whole, "kills": kills}))


if __name__ == "__main__":
    main()
