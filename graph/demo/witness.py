"""Watches the demo, so that what it claims at the end is what really happened."""

import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from longthread.graph.cli.events import Event
from longthread.graph.cli.views import View

WITH_A_REAL_MODEL = """\
with a real model:
  export OPENAI_API_KEY=...
  longthread run "make the failing test pass" --workspace YOUR_PROJECT
or with any server that speaks OpenAI's API:
  longthread run "..." --base-url http://127.0.0.1:11434/v1 --model qwen3:8b --context-window 32768"""


@dataclass
class Witness:
    """A view that passes everything on and remembers it."""

    view: View
    events: list[Event] = field(default_factory=list)
    green: bool | None = None

    @property
    def interactive(self) -> bool:
        """As the view behind it."""
        return self.view.interactive

    def show(self, event: Event) -> None:
        """Remember the event and show it."""
        self.events.append(event)
        self.view.show(event)

    def note(self, text: str, style: str = "cyan") -> None:
        """Say something to the person who watches."""
        self.show({"event": "note", "text": text, "style": style})

    def paused(self) -> AbstractContextManager[None]:
        """As the view behind it."""
        return self.view.paused()

    def close(self) -> None:
        """As the view behind it."""
        self.view.close()

    def tested(self, green: bool) -> None:
        """Take down how the last test run ended, which the agent had no part in."""
        self.green = green

    @property
    def all_shown(self) -> bool:
        """Everything that the demo promises did happen."""
        return all(happened for happened, _ in self._findings())

    def report(self, kept: str | None) -> None:
        """Say what was seen, and how to go on from here."""
        self.note("\nwhat you saw", style="bold")
        for happened, text in self._findings():
            self.note(f"  {'yes' if happened else 'NO '}  {text}", style="green" if happened else "red")
        self.note("The model was scripted; everything else was real.")
        if kept:
            store = shlex.quote(f"{kept}/threads.db")
            self.note(f"kept in {kept}; look at the thread with: longthread show demo --db {store}")
        self.note(f"\n{WITH_A_REAL_MODEL}", style="")

    def _findings(self) -> Iterator[tuple[bool, str]]:
        reminders = len(self._named("reminder"))
        plans = [event for event in self._named("todos") if event["todos"]]
        yield len(plans) > 1 and reminders > 0, f"a plan kept with todo_write; reminders of it: {reminders}"
        yield self._compaction("compact_request_threshold", "between requests")
        yield self._compaction("compact_threshold", "between turns")
        edited = self._edited_without_reading()
        yield len(edited) > 1, f"the right files in hand: {', '.join(edited)} edited without a new read"
        runs = [event["ok"] for event in self._named("tool_result") if event["name"] == "run_command"]
        red_first = runs[:1] == [False] and runs[-1:] == [True]
        yield red_first and self.green is True, "the project's own tests, red first and green at the end"

    def _named(self, name: str) -> list[Event]:
        return [event for event in self.events if event["event"] == name]

    def _compaction(self, trigger: str, when: str) -> tuple[bool, str]:
        found = next((event for event in self._named("compact_done") if event["trigger"] == trigger), None)
        if found is None:
            return False, f"a compaction {when}"
        return True, f"a compaction {when}: {found['tokens_before']:,} to {found['tokens_after']:,} tokens"

    def _edited_without_reading(self) -> list[str]:
        """Files that were edited after a compaction read them in, and not read by a call since."""
        in_hand: set[str] = set()
        edited: list[str] = []
        for event in self.events:
            if event["event"] == "compact_done":
                in_hand = set(event["files"])
            elif event["event"] == "tool_call" and event["name"] in ("read_file", "edit_file"):
                path = event["args"]["path"]
                if event["name"] == "edit_file" and path in in_hand:
                    edited.append(path.rpartition("/")[2])
                in_hand.discard(path)
        return edited
