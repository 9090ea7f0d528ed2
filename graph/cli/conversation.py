"""One thread under work: turns are run, shown, asked about, and saved after every step."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt, StreamMode

from longthread.graph.cli.approval import Approver
from longthread.graph.cli.changes import DiskWatch
from longthread.graph.cli.events import Narrator, Thresholds
from longthread.graph.cli.faults import Circumstances, Ended, OutputClosed, explained
from longthread.graph.cli.model_errors import ModelErrors
from longthread.graph.cli.options import Setup, without_secrets
from longthread.graph.cli.signals import Shutdown
from longthread.graph.cli.views import View
from longthread.graph.lineage import reopen
from longthread.graph.threads import Graph, ThreadDetails, config_of, describe
from longthread.nodes.call_order import unanswered
from longthread.nodes.settings import CompactionConfig
from longthread.tools.errors import LongthreadError
from longthread.tools.workspace import Workspace

ENDING = "told to end: the run ends at the next step; a second signal ends it at once"
AGAIN = "calls without a result are run, again if they had begun before the interruption: "
MODES: list[StreamMode] = ["messages", "updates", "custom"]


class Conversation:
    """A thread, its graph, and the view that follows it. Use it in a `with`."""

    def __init__(
        self, graph: Graph, compaction: CompactionConfig, setup: Setup, thread: str, view: View, shutdown: Shutdown
    ) -> None:
        self.graph, self.setup, self.thread, self.view = graph, setup, thread, view
        self.thresholds = Thresholds.of(compaction)
        self.narrator = Narrator(self.thresholds)
        """Of the newest turn."""
        self._shutdown = shutdown
        self._approver = Approver(view)
        # One loop for all turns: a model's client keeps connections, which belong to the loop they were made in.
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()
        self.view.close()

    def say(self, text: str) -> None:
        """Run a turn for a message of the user's; over an unfinished run if there is one."""
        self._turn({"messages": [{"role": "user", "content": text}]})

    def resume(self, details: ThreadDetails) -> None:
        """Go on with an unfinished run, from what is asked of the user if it waits for that."""
        if details.pending:
            self._turn(None, questions=details.questions, calls=unanswered(details.messages), resumed=True)
        # Nothing is pending after a compaction by request, also where that was what had been cut off.
        if reopen(self.graph, self.thread):
            details = describe(self.graph, self.thread)
            calls = unanswered(details.messages) if "execute_tools" in details.pending else []
            if calls:
                self.view.show({"event": "note", "text": AGAIN + ", ".join(call["name"] for call in calls)})
            self._turn(None, calls=calls, resumed=True)

    def compact(self, instructions: str) -> None:
        """Make the context small now."""
        self._turn({"messages": [], "compact_request": instructions}, touches_files=False)

    def details(self) -> ThreadDetails | None:
        """The thread as it is stored; `None` while nothing is."""
        with suppress(LongthreadError):
            return describe(self.graph, self.thread)
        return None

    def _turn(
        self,
        given: Any,
        *,
        questions: Sequence[Interrupt] = (),
        calls: Sequence[Mapping[str, Any]] = (),
        resumed: bool = False,
        touches_files: bool = True,
    ) -> None:
        began, watch = time.monotonic(), DiskWatch(Workspace(self.setup.workspace), self.setup.store)
        watch.about_to_change(calls)
        self.narrator = Narrator(self.thresholds)
        self.view.show(self._start_event(resumed))
        try:
            self._until_answered(given, questions, watch)
        except BaseException as error:
            text, code = explained(error, self._circumstances())
            self._report(watch if touches_files else None, began)
            self.view.show({"event": "error", "text": text, "exit_code": code})
            raise Ended(text, code) from error
        self._report(watch if touches_files else None, began)

    def _until_answered(self, given: Any, questions: Sequence[Interrupt], watch: DiskWatch) -> None:
        if questions:
            given = self._approver.answer(questions)
        while questions := self._runner.run(self._stream(given, watch)):
            given = self._approver.answer(questions)

    async def _stream(self, given: Any, watch: DiskWatch) -> list[Interrupt]:
        """Run until the end or a question; the questions."""
        asked: dict[str, Interrupt] = {}
        with self._shutdown.draining(self._told_to_end) as control:
            parts = self.graph.astream(
                given, self._config(), stream_mode=MODES, durability="sync", control=control, version="v2"
            )
            # A generator by nature, which its annotation does not say.
            async with aclosing(cast("AsyncGenerator[Any]", parts)) as open_parts:
                async for part in open_parts:
                    asked |= {question.id: question for question in _questions(part)}
                    for event in self.narrator.read(part):
                        if event["event"] == "tool_call":
                            watch.about_to_change([event])
                        self.view.show(event)
        return list(asked.values())

    def _told_to_end(self) -> None:
        with suppress(OutputClosed):
            self.view.show({"event": "note", "text": ENDING})

    def _config(self) -> RunnableConfig:
        thresholds = {name: limit for name, limit in self.thresholds.as_dict().items() if limit}
        metadata = {**self.setup.metadata(), **thresholds}
        return config_of(self.thread, metadata=metadata, callbacks=[ModelErrors(self.view.show)])

    def _start_event(self, resumed: bool) -> dict[str, Any]:
        return {
            "event": "run_start",
            "thread": self.thread,
            "model": self.setup.model,
            "workspace": str(self.setup.workspace),
            **self.thresholds.as_dict(),
            "resumed": resumed,
        }

    def _report(self, watch: DiskWatch | None, began: float) -> None:
        """What changed on disk and what was spent, however the turn ended."""
        self.view.close()
        if watch:
            self.view.show(watch.event())
        spent = {name: getattr(self.narrator, name) for name in ("requests", "input_tokens", "output_tokens")}
        seconds = round(time.monotonic() - began, 3)
        self.view.show({"event": "run_end", "thread": self.thread, **spent, "seconds": seconds})

    def _circumstances(self) -> Circumstances:
        details = self.details()
        unfinished = details is not None and details.info.status != "done"
        resume = self.setup.resume_command(self.thread) if unfinished else ""
        return Circumstances(self.setup.model, without_secrets(self.setup.base_url) or "", resume)


def _questions(part: Mapping[str, Any]) -> Sequence[Interrupt]:
    if part["type"] != "updates" or part["ns"]:
        return ()
    found: Sequence[Interrupt] = part["data"].get("__interrupt__", ())
    return found
