"""`longthread demo`: a scripted model mends a real project. Tools, files, tests, SQLite and compactions are real."""

import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from longthread.graph.agent import create_agent
from longthread.graph.cli.build import system_prompt
from longthread.graph.cli.conversation import Conversation
from longthread.graph.cli.faults import DONE, UNFORESEEN
from longthread.graph.cli.options import Setup
from longthread.graph.cli.parse import UsageError
from longthread.graph.cli.signals import Shutdown
from longthread.graph.cli.store import open_store
from longthread.graph.cli.views import open_view
from longthread.graph.demo.script import FIRST_TASK, SECOND_TASK, steps, worker_steps
from longthread.graph.demo.witness import Witness
from longthread.graph.scripted import ScriptedChatModel
from longthread.graph.threads import Graph
from longthread.nodes.settings import CompactionConfig, ReminderConfig

THREAD = "demo"
PACE = 0.02
"""Seconds for each piece of the stream, so that a person can follow."""
COMPACTION = CompactionConfig(
    compact_threshold=4_200,
    compact_request_threshold=5_500,
    retained_tokens=500,
    auto_read_budget=2_500,
    summary_max_tokens=700,
    pinned_user_tokens=200,
    prune_protected_tokens=5_500,
)
"""Small limits, so that a short session meets both."""
REMINDERS = ReminderConfig(idle_requests=4)
OPENING = """\
This demo needs no key and no network. The model is SCRIPTED: its words and calls were written beforehand.
Everything else is real: the graph, the tools, the files, the test runs, the thread in SQLite.
The context is kept very small on purpose, so that you see it being compacted twice."""


def demo(given: Namespace) -> int:
    """Run the demo; success means that the tests are really green and everything was shown."""
    with ExitStack() as stack:
        folder = stack.enter_context(_folder(given.keep))
        project, store = folder / "project", str(folder / "threads.db")
        _copy_project(project)
        saver = stack.enter_context(open_store(store))
        shutdown, witness = Shutdown(), Witness(open_view(given.json))
        stack.enter_context(shutdown.handled())
        graph = _agent(project, saver, PACE if witness.interactive else 0.0)
        setup = Setup(project, "the scripted model", store=store, resumable=False)
        talk = stack.enter_context(Conversation(graph, COMPACTION, setup, THREAD, witness, shutdown))
        _both_turns(talk, witness)
        witness.tested(_tests_pass(project))
        witness.report(given.keep)
    return DONE if witness.all_shown else UNFORESEEN


def _both_turns(talk: Conversation, witness: Witness) -> None:
    witness.note(OPENING)
    for task in (FIRST_TASK, SECOND_TASK):
        witness.note(f"\nyou: {task}", style="bold")
        talk.say(task)


def _agent(project: Path, saver: BaseCheckpointSaver[Any], pace: float) -> Graph:
    return create_agent(
        ScriptedChatModel(steps(), delay=pace, prefix="demo"),
        system_prompt=system_prompt(),
        workspace=project,
        compaction=COMPACTION,
        reminders=REMINDERS,
        worker_model=ScriptedChatModel(worker_steps(), prefix="demo-worker"),
        allow_commands="always",
        checkpointer=saver,
    )


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    """Where the demo works: a folder of its own that goes away, or the one to keep."""
    if keep is None:
        with TemporaryDirectory(prefix="longthread-demo-") as folder:
            yield Path(folder).resolve()
        return
    kept = Path(keep).expanduser().absolute()
    if kept.exists() and (not kept.is_dir() or any(kept.iterdir())):
        raise UsageError(f"--keep {keep!r} is there already; name a new or empty folder")
    kept.mkdir(parents=True, exist_ok=True)
    yield kept


def _copy_project(project: Path) -> None:
    with as_file(files(__package__).joinpath("project")) as source:
        shutil.copytree(source, project, ignore=shutil.ignore_patterns("__pycache__"))


def _tests_pass(project: Path) -> bool:
    """The last word is not the agent's: the tests are run once more, by the demo itself."""
    done = subprocess.run([sys.executable, "-B", "-m", "unittest"], cwd=project, capture_output=True, check=False)
    return done.returncode == 0
