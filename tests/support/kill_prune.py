"""Kills prunings at random moments: `python kill_prune.py FOLDER KILLS` prints one JSON object.

Every pruning works on a fresh copy of one long thread. Forked, so that a kill costs little.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from long_threads import looked
from longthread.graph import open_saver, prune_thread, transcript
from longthread.graph.threads import describe


def read(where: Path) -> tuple[Any, int]:
    """All that can be read of the thread, and how many checkpoints it has."""
    with open_saver(where) as saver:
        return (transcript(saver, "t"), describe(saver, "t")), len(saver.parents("t"))


def pruning(where: Path) -> int:
    """A child that prunes."""
    child = os.fork()
    if child == 0:
        with open_saver(where) as saver:
            prune_thread(saver, "t")
        os._exit(0)
    return child


def took(where: Path) -> float:
    """Seconds that an undisturbed pruning takes."""
    began = time.monotonic()
    os.waitpid(pruning(where), 0)
    return time.monotonic() - began


def main(folder: Path, kills: int) -> None:
    """The kills."""
    original = folder / "original.db"
    with open_saver(original) as saver:
        looked(saver)
    whole, rows = read(original)
    shutil.copy(original, folder / "whole.db")
    seconds = took(folder / "whole.db")
    found: dict[str, int] = {"killed": 0, "untouched": 0, "pruned": 0, "lost": 0}
    for number in range(2 * kills):
        if found["killed"] == kills:
            break
        where = folder / f"{number}.db"
        shutil.copy(original, where)
        child = pruning(where)
        time.sleep(seconds * random.Random(number).uniform(0.3, 1.0))
        os.kill(child, signal.SIGKILL)
        hit = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        found["killed"] += hit
        seconds *= 1 if hit else 0.9  # the machine is quicker now
        seen, left = read(where)
        found["lost"] += seen != whole
        found["untouched" if left == rows else "pruned"] += 1
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
