"""`run`, `resume` and `compact`: one turn on a thread."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from longthread.graph.cli.build import build
from longthread.graph.cli.conversation import Conversation
from longthread.graph.cli.faults import DONE, TO_PUT_RIGHT
from longthread.graph.cli.names import checked_name, new_name
from longthread.graph.cli.options import settle, store_of
from longthread.graph.cli.parse import UsageError
from longthread.graph.cli.signals import Shutdown
from longthread.graph.cli.store import open_store
from longthread.graph.cli.views import decoded, open_view
from longthread.graph.locks import thread_lock
from longthread.graph.threads import ThreadDetails, describe, exists
from longthread.tools.text import clean

NOTHING = "nothing to resume: the last turn of this thread has its answer. Say more with: longthread run TASK --thread "
OVER = "an unfinished run stood here; your message goes over it, what it had not done yet is left out"
OPEN = "the unfinished turn of this thread stays open; go on with: longthread resume "


def run(given: Namespace) -> int:
    """Do a task on a new thread, or go on with one."""
    task = clean(decoded(sys.stdin).read()) if given.task == "-" else given.task
    if not task.strip():
        raise UsageError("the task is empty; say what to do, as in: longthread run 'make the tests pass'")
    with conversation(given, given.thread, task) as (talk, details):
        if details and details.info.status != "done":
            talk.view.show({"event": "note", "text": OVER})
        talk.say(task)
    return DONE


def resume(given: Namespace) -> int:
    """Go on with an unfinished run."""
    with open_store(store_of(given), must_exist=True) as saver:
        if describe(saver, given.thread).info.status == "done":  # Said without a model, so without a key.
            open_view(given.json).show({"event": "note", "text": NOTHING + given.thread})
            return DONE
    with conversation(given, given.thread, must_exist=True) as (talk, details):
        assert details is not None
        talk.resume(details)
    return DONE


def compact(given: Namespace) -> int:
    """Make a thread's context small now."""
    with conversation(given, given.thread, must_exist=True) as (talk, _):
        talk.compact(" ".join(given.instructions))
        after = talk.details()
        if after and after.info.status != "done":
            talk.view.show({"event": "note", "text": OPEN + given.thread})
        failed = after is not None and after.compaction.get("outcome") == "failed"
    return TO_PUT_RIGHT if failed else DONE


@contextmanager
def conversation(
    given: Namespace, thread: str | None, task: str = "", *, must_exist: bool = False
) -> Iterator[tuple[Conversation, ThreadDetails | None]]:
    """The conversation that the options ask for, and the thread as it was stored before.

    Raises:
        LongthreadError: something that has to be put right first.
    """
    with ExitStack() as stack:
        shutdown = Shutdown()
        stack.enter_context(shutdown.handled())
        saver = stack.enter_context(open_store(store_of(given), must_exist=must_exist))
        name = checked_name(thread) if thread is not None else new_name(task, lambda name: exists(saver, name))
        stack.enter_context(thread_lock(saver, name))
        details = describe(saver, name) if must_exist or exists(saver, name) else None
        setup = settle(given, details.info.metadata if details else {})
        graph, compaction = build(setup, saver)
        view = open_view(setup.json)
        yield stack.enter_context(Conversation(graph, compaction, setup, name, view, shutdown)), details
