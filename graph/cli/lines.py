"""The lines that a person reads for an event; the same words on a terminal and in a pipe."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.text import Text

from longthread.graph.cli.bar import WIDTH, Glyphs, gauge
from longthread.graph.cli.endings import WORDS
from longthread.graph.cli.events import Event, Thresholds
from longthread.graph.cli.printable import counted, printable
from longthread.tools.text import one_line
from longthread.tools.todo import TodoItem

TRIGGERS = {
    "compact_threshold": "between turns, above {limit}",
    "compact_request_threshold": "between requests, above {limit}",
    "context_refused": "after the provider refused the request as too long",
    "user": "as you asked",
}
STYLES = {"pending": "", "in_progress": "bold yellow", "completed": "dim"}
CHANGES = {"added": ("+", "green"), "modified": ("~", "yellow"), "deleted": ("-", "red")}
MAX_FILES = 40
GAUGE = "  context "


class Lines:
    """Words events; remembers the thresholds and the todo list, so that only a change is told."""

    def __init__(self, glyphs: Glyphs, bar_width: int = WIDTH) -> None:
        self.glyphs = glyphs
        self.bar_width = bar_width
        self.thresholds = Thresholds()
        self._todos: Any = None
        self._begun: Event | None = None
        self._tellers: Mapping[str, Callable[[Event], list[Text]]] = {
            "run_start": self._run_start,
            "answer": self._answer,
            "model_error": self._model_error,
            "tool_result": self._tool_result,
            "todos": self._changed_todos,
            "todo_list": lambda event: self.todos(event["todos"]),
            "reminder": self._reminder,
            "pruned": self._pruned,
            "compact_start": self._compact_start,
            "compact_done": self._compact_done,
            "compact_failed": self._compact_failed,
            "compact_skipped": self._compact_skipped,
            "note": self._note,
            "changes": self._changes,
            "run_end": self._run_end,
        }

    def of(self, event: Event) -> list[Text]:
        """The lines for an event; none for one that is shown in another way or not at all."""
        teller = self._tellers.get(event["event"])
        return teller(event) if teller else []

    def gauge(self, tokens: int, source: str = "", label: str = GAUGE, width: int | None = None) -> Text:
        """A labelled occupancy bar."""
        line = gauge(tokens, self.thresholds, self.glyphs, source, width or self.bar_width)
        return Text(label, style="dim").append_text(line)

    def todos(self, todos: Sequence[TodoItem]) -> list[Text]:
        """The list, headed by how much of it is done."""
        if not todos:
            return [Text("  the todo list is empty")]
        done = sum(todo["status"] == "completed" for todo in todos)
        head = Text(f"  todo list, {done} of {len(todos)} done", style="bold")
        return [head, *(self._todo(todo) for todo in todos)]

    def _todo(self, todo: TodoItem) -> Text:
        mark = self.glyphs.todo.get(todo["status"], "?")
        return Text(f"    {mark} {one_line(printable(todo['content']), 300)}", style=STYLES.get(todo["status"], ""))

    def _run_start(self, event: Event) -> list[Text]:
        self.thresholds = Thresholds(event["compact_threshold"], event["compact_request_threshold"])
        if event == self._begun:
            return []  # Another turn of the same.
        self._begun = event
        doing = "resuming thread" if event["resumed"] else "thread"
        head = Text(f"{doing} ").append(printable(event["thread"]), "bold cyan")
        return [head, Text(printable(f"{event['model']} in {event['workspace']}"), style="dim")]

    def _answer(self, event: Event) -> list[Text]:
        """The words came before, as tokens."""
        said = WORDS.get(event.get("ending") or "")
        return [Text(f"  {self.glyphs.failed} {said}", style="yellow")] if said else []

    def _model_error(self, event: Event) -> list[Text]:
        if event["kind"] == "final":
            return []
        what = "did not answer" if event["kind"] == "transient" else "says that the context is too long"
        return [self._failed(f"the model {what}", event["text"], "yellow")]

    def _tool_result(self, event: Event) -> list[Text]:
        if event["name"] == "todo_write" and event["ok"]:
            return []  # The list itself is shown.
        mark, style = (self.glyphs.ok, "green") if event["ok"] else (self.glyphs.failed, "red")
        return [Text(f"  {mark} ", style=style).append(one_line(printable(event["summary"]), 300), "default")]

    def _changed_todos(self, event: Event) -> list[Text]:
        if not event["todos"] or event["todos"] == self._todos:
            return []
        self._todos = event["todos"]
        return self.todos(event["todos"])

    def _reminder(self, event: Event) -> list[Text]:
        return [Text(f"  reminded of {counted(event['todos'], 'open todo')}", style="magenta")]

    def _pruned(self, event: Event) -> list[Text]:
        results = counted(event["results"], "old tool result")
        sizes = f"{event['tokens_before']:,} to {event['tokens_after']:,} tokens"
        return [Text(f"  pruned {results} to their summaries: {sizes}", style="magenta")]

    def _compact_start(self, event: Event) -> list[Text]:
        head = Text(f"  compaction {self._trigger(event)}", style="bold magenta")
        return [head.append(f": summarising {counted(event['messages'], 'message')}{self.glyphs.dots}", "not bold")]

    def _compact_done(self, event: Event) -> list[Text]:
        after = f"    {counted(event['kept'], 'message')} kept, {event['seconds']:.1f} s"
        files = [_listed("read in", event["files"]), _listed("references", event["references"])]
        why = one_line(printable(event.get("reason") or ""), 300)
        stood_in = [Text(f"    summary made without the model: {why}", style="yellow")] if why else []
        return [
            self.gauge(event["tokens_before"], label="    before "),
            self.gauge(event["tokens_after"], label="    after  "),
            *(Text(line) for line in files if line),
            Text(after, style="dim"),
            *stood_in,
        ]

    def _compact_failed(self, event: Event) -> list[Text]:
        off = "; automatic compaction is off until one succeeds" if event["breaker_open"] else ""
        return [self._failed(f"compaction failed{off}", event["reason"], "red")]

    def _failed(self, what: str, why: str, style: str) -> Text:
        return Text(f"  {self.glyphs.failed} {what}: {one_line(printable(why), 300)}", style=style)

    def _compact_skipped(self, event: Event) -> list[Text]:
        why = one_line(printable(event["reason"]), 300)
        return [Text(f"  no compaction ({self._trigger(event)}): {why}", style="yellow")]

    def _trigger(self, event: Event) -> str:
        limit = getattr(self.thresholds, event["trigger"], None)
        return TRIGGERS.get(event["trigger"], "").format(limit=f"{limit or 0:,}")

    def _note(self, event: Event) -> list[Text]:
        return [Text(printable(event["text"]), style=event.get("style", "cyan"))]

    def _changes(self, event: Event) -> list[Text]:
        files = event["files"]
        if not files:
            return [Text("nothing changed on disk", style="dim")]
        more = [Text(f"  and {len(files) - MAX_FILES} more")] if len(files) > MAX_FILES else []
        return [Text("changed on disk", style="bold"), *map(_change, files[:MAX_FILES]), *more]

    def _run_end(self, event: Event) -> list[Text]:
        if not event["requests"]:
            return []
        tokens = f"{event['input_tokens']:,} tokens in, {event['output_tokens']:,} out"
        return [Text(f"{counted(event['requests'], 'request')}, {tokens}, {event['seconds']:.1f} s", style="dim")]


def _change(file: Mapping[str, Any]) -> Text:
    mark, style = CHANGES[file["change"]]
    line = Text(f"  {mark} ", style=style).append(one_line(printable(file["path"])))
    if file["added"] is not None:
        line.append(f"  +{file['added']}", "green").append(f" -{file['removed']}", "red")
    return line


def _listed(what: str, paths: Sequence[str]) -> str:
    return f"    {what}: {one_line(printable(', '.join(paths)), 300)}" if paths else ""
