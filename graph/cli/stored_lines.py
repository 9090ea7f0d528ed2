"""The lines of `threads` and `show`."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from rich.text import Text

from longthread.graph.cli.bar import Glyphs
from longthread.graph.cli.events import Thresholds
from longthread.graph.cli.lines import Lines
from longthread.graph.cli.printable import counted, printable, visible
from longthread.graph.threads import ThreadDetails, ThreadInfo
from longthread.nodes.history.speakers import source_of
from longthread.nodes.state import SegmentRecord
from longthread.tools.results import summary_of, text_of
from longthread.tools.text import one_line

STATUS = {"done": "green", "unfinished": "yellow", "waiting": "yellow", "damaged": "red"}
HEADS = ("THREAD", "STATUS", "LAST USED", "TODOS", "CONTEXT", "TASK")
TRIGGERS = {
    "compact_threshold": "between turns",
    "compact_request_threshold": "between requests",
    "context_refused": "after a refusal",
    "user": "by request",
}
SHOWN_LINES, SHOWN_CHARACTERS = 6, 600


def thread_lines(infos: Sequence[ThreadInfo], where: str) -> Iterator[Text]:
    """A table, the last used thread first."""
    if not infos:
        yield Text(f"no threads yet in {where}")
        return
    rows = [HEADS, *map(_row, infos)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        style = "bold" if row is HEADS else ""
        line = Text("  ".join([*cells, row[-1]]), style=style)
        if row is not HEADS:
            line.stylize(STATUS[row[1]], len(cells[0]) + 2, len(cells[0]) + 2 + len(row[1]))
        yield line


def _row(info: ThreadInfo) -> tuple[str, ...]:
    done = sum(todo["status"] == "completed" for todo in info.todos)
    return (
        printable(one_line(info.thread)),
        info.status,
        local_time(info.updated),
        f"{done}/{len(info.todos)}" if info.todos else "",
        f"{info.occupancy['tokens']:,}" if info.occupancy else "",
        printable(info.title),
    )


def local_time(stamp: str) -> str:
    """The time on the user's clock, to the minute."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return ""


def details_lines(details: ThreadDetails, messages: int, glyphs: Glyphs, *, whole: bool = False) -> Iterator[Text]:
    """Everything about one thread; with `whole` no message is shortened."""
    info, lines = details.info, Lines(glyphs)
    lines.thresholds = Thresholds(*(_number(info.metadata, name) for name in vars(Thresholds())))
    yield Text("thread ").append(one_line(info.thread), "bold cyan").append(f"  {info.status}", STATUS[info.status])
    yield Text(one_line(_circumstances(info), 300), style="dim")
    yield from _way_on(details)
    if info.occupancy:
        yield lines.gauge(info.occupancy["tokens"], info.occupancy["source"])
    yield from lines.todos(info.todos)
    yield from _segments(details)
    number = len(details.messages)
    newest = f"last messages ({min(messages, number)} of {number})"
    yield Text(f"  all {counted(number, 'message')}" if whole else f"  {newest}", style="bold")
    for message in details.messages[-messages:]:
        yield from _message(message, whole)


def _circumstances(info: ThreadInfo) -> str:
    parts = [info.metadata.get("model"), info.metadata.get("workspace")]
    where = " in ".join(printable(str(part)) for part in parts if part)
    return ", ".join(part for part in (where, f"last used {local_time(info.updated)}") if part)


def _number(metadata: dict[str, Any], name: str) -> int | None:
    value = metadata.get(name)
    return value if isinstance(value, int) else None


def _way_on(details: ThreadDetails) -> Iterator[Text]:
    if details.questions:
        for request in (r for q in details.questions for r in q.value.get("action_requests", [])):
            asked = visible(str(request["args"].get("command", request["name"])))
            yield Text(f"  waits for your approval: {one_line(asked, 300)}", style="yellow")
    if details.info.status in ("unfinished", "waiting"):
        yield Text(f"  go on with: longthread resume {details.info.thread}", style="yellow")
    if details.compaction.get("open"):
        reason = one_line(printable(details.compaction.get("reason", "")), 200)
        yield Text(f"  automatic compaction is off after repeated failures: {reason}", style="red")


def _segments(details: ThreadDetails) -> Iterator[Text]:
    if details.segments:
        yield Text(f"  segments, {len(details.segments)} compacted", style="bold")
    for segment in details.segments:
        yield Text(f"    {_segment(segment)}")


def _segment(segment: SegmentRecord) -> str:
    files = f", read in: {', '.join(segment['files'])}" if segment["files"] else ""
    sizes = f"{segment['tokens_before']:,} to {segment['tokens_after']:,} tokens"
    counts = f"{counted(segment['summarised'], 'message')} summarised, {segment['kept']} kept"
    trigger = TRIGGERS.get(segment["trigger"], segment["trigger"])
    return one_line(printable(f"{segment['number']}. {trigger}: {sizes}, {counts}{files}"), 300)


def _message(message: AnyMessage, whole: bool) -> Iterator[Text]:
    if isinstance(message, ToolMessage):
        body = printable(text_of(message)) if whole else one_line(printable(summary_of(message)), 300)
        yield _headed(f"{message.name or 'tool'}", body, "dim")
        return
    name = {"human": "you", "ai": "agent", "system": source_of(message) or "system"}.get(message.type, message.type)
    calls = [call["name"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    text = printable(text_of(message))
    text = text if whole else _shortened(text)
    called = f"calls {one_line(', '.join(calls))}" if calls else ""
    yield _headed(name, "\n".join(part for part in (text, called) if part), "bold cyan" if name == "you" else "bold")


def _headed(name: str, body: str, style: str) -> Text:
    first, *rest = body.splitlines() or [""]
    line = Text(f"    {one_line(printable(name), 40)}: ", style=style).append(first, "")
    return line.append("".join(f"\n      {each}" for each in rest), "")


def _shortened(text: str) -> str:
    lines = text.strip()[:SHOWN_CHARACTERS].splitlines()
    cut = len(lines) > SHOWN_LINES or len(text.strip()) > SHOWN_CHARACTERS
    return "\n".join([*lines[:SHOWN_LINES], *(["[...]"] if cut else [])])
