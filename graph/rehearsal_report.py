"""The result of a dry run, and how it reads."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AnyMessage

from longthread.nodes.history.cut import SHORTENED
from longthread.nodes.history.prune import PruneStep
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.state import Occupancy, Trigger
from longthread.tools.text import one_line
from longthread.tools.todo import TodoItem

TRIGGERS = {
    "compact_threshold": "above compact_threshold, after the answer",
    "compact_request_threshold": "above compact_request_threshold, before the next request",
}
NOT_DUE = "not due; below is what the user's own request would do"
SHOWN = 3
"""Pinned messages that are printed, of the first and of the newest."""


@dataclass(frozen=True)
class DryRun:
    """What would happen to a history. `print` it to read it."""

    config: CompactionConfig
    occupancy: Occupancy
    """Before anything is done."""
    due: Trigger | None
    """The threshold that asks for a compaction; `None`: none does, and the rest is as if the user asked."""
    prune: PruneStep | None
    """The prune step before the next request, if one pays."""
    after_pruning: int
    """Occupancy once it is made."""
    todos: list[TodoItem]
    """The open ones, which would stand in a snapshot."""
    reason: str = ""
    """Why there would be no compaction; empty if there would be one."""
    summarised: list[AnyMessage] = field(default_factory=list)
    """What the summary would stand for."""
    kept: list[AnyMessage] = field(default_factory=list)
    """The tail, in the form in which it would stand."""
    pinned: list[str] = field(default_factory=list)
    """The user's own words that would stand beside the summary."""
    unpinned: int = 0
    """The user's messages that would be in the summary only."""
    files: list[str] = field(default_factory=list)
    """Candidates for reading in: what the worker is asked to read."""
    errors: list[str] = field(default_factory=list)
    """Error results that would stand beside the summary."""
    tokens_after: tuple[int, int] = (0, 0)
    """Of the next request: with an empty summary and no file, and with both budgets used up."""

    def __str__(self) -> str:
        return "\n".join(_report(self))


def _report(run: DryRun) -> list[str]:
    config = run.config
    lines = [
        f"occupancy    {run.occupancy['tokens']:,} tokens ({run.occupancy['source']}); {_thresholds(config)}",
        f"pruned       {_pruned(run)}",
        f"compaction   {TRIGGERS.get(run.due or '', NOT_DUE)}",
    ]
    if run.reason:
        return [*lines, f"             would not be made: {run.reason}"]
    least, most = run.tokens_after
    return [
        *lines,
        f"summarised   {_counted(run.summarised)}: all before the tail",
        f"kept         {_kept(run)}",
        f"pinned       {_pinned(run)}",
        *_indented(_ends([one_line(text, 90) for text in run.pinned])),
        f"errors       {len(run.errors)} of the last three, in short",
        f"open todos   {len(run.todos)}",
        f"read in      what the worker chooses of these, within auto_read_budget={config.auto_read_budget:,}:",
        *_indented(run.files or ["none: no file was touched"]),
        f"afterwards   {least:,} tokens with summary and files empty, {most:,} with both full",
    ]


def _kept(run: DryRun) -> str:
    marked = sum(SHORTENED in message.additional_kwargs for message in run.kept)
    cut = f", {marked} of them shortened to fit" if marked else ""
    return f"{_counted(run.kept)}{cut}: the newest groups within retained_tokens={run.config.retained_tokens:,}"


def _pinned(run: DryRun) -> str:
    left_out = f"; {run.unpinned} more are left to the summary" if run.unpinned else ""
    return f"{len(run.pinned)} user messages within pinned_user_tokens={run.config.pinned_user_tokens:,}{left_out}"


def _thresholds(config: CompactionConfig) -> str:
    set_ones = {
        "compact_threshold": config.compact_threshold,
        "compact_request_threshold": config.compact_request_threshold,
    }
    return ", ".join(f"{name}={tokens:,}" if tokens else f"{name} not set" for name, tokens in set_ones.items())


def _pruned(run: DryRun) -> str:
    if run.prune is None:
        return f"nothing: a step would save less than prune_min_savings={run.config.prune_min_savings:,}"
    protected = f"outside the newest prune_protected_tokens={run.config.prune_protected_tokens:,}"
    return f"before the next request {len(run.prune.calls)} results {protected}: {run.after_pruning:,} tokens left"


def _counted(messages: Sequence[AnyMessage]) -> str:
    words = {"human": "user", "ai": "assistant", "tool": "result", "system": "system"}
    kinds = Counter(words.get(message.type, message.type) for message in messages)
    return f"{len(messages)} messages ({', '.join(f'{count} {kind}' for kind, count in kinds.items())})"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"               {line}" for line in lines]


def _ends(lines: list[str]) -> list[str]:
    left_out = len(lines) - 2 * SHOWN
    return lines if left_out < 2 else [*lines[:SHOWN], f"... {left_out} more", *lines[-SHOWN:]]
