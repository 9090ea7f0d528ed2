"""`fork`, `export`, `import`, `prune` and `delete`: threads as things that are kept."""

import contextlib
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from longthread.graph.cli.faults import DONE
from longthread.graph.cli.names import checked_name, new_name
from longthread.graph.cli.options import store_of
from longthread.graph.cli.parse import UsageError
from longthread.graph.cli.printable import counted
from longthread.graph.cli.store import open_store
from longthread.graph.cli.views import decoded, open_printer, write
from longthread.graph.exchange import export_thread, import_thread
from longthread.graph.lineage import fork as fork_thread
from longthread.graph.lineage import forks_of
from longthread.graph.locks import thread_lock
from longthread.graph.retention import prune_thread
from longthread.graph.threads import describe, exists
from longthread.tools.errors import StoreUnusable, ThreadTooNew

PATIENCE = 2.0
"""Seconds to wait for a run on a thread that is to be pruned or deleted."""
STANDARD = "-"
"""Standard input or output, as a file name."""


def fork(given: Namespace) -> int:
    """Begin a new thread where another one is or was."""
    with open_store(store_of(given), must_exist=True) as saver:
        title = given.to or describe(saver, given.thread).info.title
        name = checked_name(given.to) if given.to else new_name(title, lambda name: exists(saver, name))
        with thread_lock(saver, name):
            fork_thread(saver, given.thread, name, given.segment)
        status = describe(saver, name).info.status
    way_on = f"longthread resume {name}" if status == "unfinished" else f"longthread run TASK --thread {name}"
    open_printer().say(f"forked {given.thread} to {name}; go on with: {way_on}")
    return DONE


def export(given: Namespace) -> int:
    """Write a thread as JSON lines."""
    with open_store(store_of(given), must_exist=True) as saver, _output(given.output) as file:
        for line in export_thread(saver, given.thread, live=given.live):
            write(file, line)
    return DONE


@contextlib.contextmanager
def _output(name: str) -> Iterator[TextIO]:
    """The file; an export that fails leaves none, and one that was there before stays as it was."""
    if name == STANDARD:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    begun = Path(f"{name}.part")
    # What was worked on is nobody else's business.
    with os.fdopen(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        try:
            yield file
        except BaseException:
            begun.unlink()
            raise
    begun.replace(name)


def import_(given: Namespace) -> int:
    """Begin a thread with the messages of an export."""
    name = checked_name(given.thread) if given.thread else None
    with open_store(store_of(given)) as saver, _input(given.file) as lines:
        name = name or new_name(Path(given.file).stem.strip("-"), lambda name: exists(saver, name))
        with thread_lock(saver, name):
            messages = import_thread(saver, name, lines)
    open_printer().say(
        f"imported {counted(len(messages), 'message')} as {name}; look at them with: longthread show {name}"
    )
    return DONE


@contextlib.contextmanager
def _input(name: str) -> Iterator[Iterable[str]]:
    if name == STANDARD:
        yield decoded(sys.stdin)
        return
    with open(name, encoding="utf-8", errors="replace") as file:
        yield file


def prune(given: Namespace) -> int:
    """Thin out a thread."""
    where = store_of(given)
    with open_store(where, must_exist=True) as saver:
        pruned = prune_thread(saver, given.thread, drop_history=given.drop_history, timeout=PATIENCE)
        forks = forks_of(saver, given.thread) if given.drop_history else []
    kept = f"{counted(pruned.segments, 'closed segment')} kept as one snapshot each"
    open_printer().say(
        f"pruned {given.thread}: {counted(pruned.checkpoints, 'checkpoint')} removed, {kept}{_lost(forks)}"
    )
    return DONE


def delete(given: Namespace) -> int:
    """Delete a thread with everything that is stored of it."""
    with open_store(store_of(given), must_exist=True) as saver, thread_lock(saver, given.thread, PATIENCE):
        with contextlib.suppress(StoreUnusable, ThreadTooNew):  # What cannot be read can be deleted.
            describe(saver, given.thread)  # raises ThreadNotFound, with names that are spelled like it
        lost = _lost(forks_of(saver, given.thread))
        if not given.yes and not _sure(given.thread, lost):
            open_printer().say("nothing deleted")
            return DONE
        saver.delete_thread(given.thread)
    open_printer().say(f"deleted {given.thread}{lost}")
    return DONE


def _lost(forks: Sequence[str]) -> str:
    """What is lost with a thread in the threads that were forked from it."""
    return f"; lost with it: what came before the compactions of its forks {', '.join(forks)}" if forks else ""


def _sure(thread: str, lost: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"deleting {thread!r} cannot be undone; say --yes where nobody can be asked")
    try:
        return input(f"Delete thread {thread} for good{lost}? [y/N] ").strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        open_printer().say("")
        raise
    except EOFError:
        return False
