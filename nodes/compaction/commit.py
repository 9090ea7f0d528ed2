"""How a compaction is committed: the new history built, measured, reduced once, and written in one update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.types import Overwrite

from longthread.nodes.compaction.attempt import Opener, bounds
from longthread.nodes.compaction.auto_read import ReadIn, marks_by_recency, read_marked, within
from longthread.nodes.compaction.carry import carried_appendix, known_records, references_of
from longthread.nodes.history.appendix import Appendix
from longthread.nodes.history.cut import fit_tail, summary_only
from longthread.nodes.history.prune import CLEARED
from longthread.nodes.history.rebuild import (
    file_message,
    missing_file_message,
    references_message,
    summary_message,
)
from longthread.nodes.history.repair import repair
from longthread.nodes.history.snapshot import snapshot_message
from longthread.nodes.state import AgentState, SegmentRecord
from longthread.nodes.worker.state import Meter, Plan
from longthread.tools.tracker import recent_files
from longthread.tools.worker import Desk
from longthread.tools.workspace import Workspace


@dataclass(frozen=True)
class Origin:
    """Where a compaction was made: the checkpoint before it, and the worker's namespace; `None` without a saver."""

    checkpoint_id: str | None
    namespace: str | None


@dataclass(frozen=True)
class Draft:
    """A new history before it is measured."""

    head: list[AnyMessage]
    summary: str
    appendix: Appendix
    files: list[ReadIn]
    references: list[tuple[str, str]]
    snapshot: AnyMessage | None
    tail: list[AnyMessage]
    plan: Plan

    def messages(self, segment: Mapping[str, Any]) -> list[AnyMessage]:
        """The history in its order."""
        number = self.plan["number"]
        files = [
            missing_file_message(number, file.path, file.reason)
            if file.reason
            else file_message(number, file.path, file.lines, file.text, file.note)
            for file in self.files
        ]
        references = [references_message(number, self.references)] if self.references else []
        snapshot = [self.snapshot] if self.snapshot else []
        summary = summary_message(self.summary, self.appendix, dict(segment))
        return [*self.head, summary, *files, *references, *snapshot, *self.tail]


@dataclass(frozen=True)
class Committer:
    """Commits attempts of one agent."""

    opener: Opener
    workspace: Workspace | None

    def commit(
        self, state: AgentState, plan: Plan, summary: str, desk: Desk, meter: Meter, origin: Origin
    ) -> dict[str, Any] | None:
        """The update that replaces every delta channel, or `None` where the new history is no gain."""
        draft = self._draft(state, plan, summary, desk)
        target = self.opener.target(plan["trigger"], plan["tokens_before"])
        excess = self._size(draft, state) - target + 1
        if excess > 0:
            draft = self._reduced(draft, state, excess)
        if (size := self._size(draft, state)) >= target:
            return None
        segment = _segment(draft, desk, meter, size, origin)
        return {
            "messages": Overwrite(draft.messages(segment)),
            "todos": Overwrite([]),
            "tracker": Overwrite(known_records(state.get("tracker") or [], draft.files, shown_calls(draft.tail))),
            "segments": Overwrite([*(state.get("segments") or []), segment]),
            "pruned_through": None,
            "occupancy": {"tokens": size, "source": "extrapolated" if plan["scale"] != 1 else "estimated"},
            "compact_request": None,
        }

    def _draft(self, state: AgentState, plan: Plan, summary: str, desk: Desk) -> Draft:
        config = self.opener.config
        messages = repair(state["messages"])
        start, end = bounds(messages, plan)
        tail = summary_only(messages, self.opener.requests.never_pruned)[end:]
        tail = fit_tail(tail, config.retained_tokens, plan["scale"])
        tracker = state.get("tracker") or []
        marks = desk["marks"] or marks_by_recency(
            self.workspace, recent_files(tracker, config.recent_files), config.auto_read_budget // 2, plan["scale"]
        )
        files = read_marked(self.workspace, marks, plan["scale"])
        visible = {record["path"] for record in tracker if record["known"] and record["call"] in shown_calls(tail)}
        files = [file for file in files if file.path not in visible]
        return Draft(
            head=list(messages[:start]),
            summary=summary,
            appendix=carried_appendix(messages[start:end], tracker, config.pinned_user_tokens, plan["scale"]),
            files=files,
            references=references_of(desk, tracker, files),
            snapshot=snapshot_message(messages, state.get("todos") or [], plan["number"]),
            tail=tail,
            plan=plan,
        )

    def _size(self, draft: Draft, state: AgentState) -> int:
        """Tokens of the next request with this history."""
        return self.opener.requests.meter.scaled(draft.messages({"number": 0}), state["messages"])

    def _reduced(self, draft: Draft, state: AgentState, excess: int) -> Draft:
        """The draft with the tail shortened, then with fewer files."""
        meter, scale = self.opener.requests.meter, draft.plan["scale"]
        tail_size = sum(meter.weights(draft.tail))
        draft = replace(draft, tail=fit_tail(draft.tail, max(0, tail_size - excess), scale))
        excess = self._size(draft, state) - self.opener.target(draft.plan["trigger"], draft.plan["tokens_before"]) + 1
        if excess <= 0:
            return draft
        taken = sum(meter.weights([file_message(0, f.path, f.lines, f.text, f.note) for f in draft.files]))
        files = within(draft.files, max(0, taken - excess), scale)
        dropped = [(file.path, "") for file in draft.files if file not in files]
        return replace(draft, files=files, references=[*draft.references, *dropped])


def shown_calls(tail: Sequence[AnyMessage]) -> set[str]:
    """Calls whose result stands in the tail whole."""
    return {m.tool_call_id for m in tail if isinstance(m, ToolMessage) and not m.additional_kwargs.get(CLEARED)}


def _segment(draft: Draft, desk: Desk, meter: Meter, size: int, origin: Origin) -> SegmentRecord:
    return {
        "number": draft.plan["number"],
        "trigger": draft.plan["trigger"],
        "tokens_before": draft.plan["tokens_before"],
        "tokens_after": size,
        "compacted_from": origin.checkpoint_id,
        "summarised": draft.plan["summarised"],
        "kept": len(draft.tail),
        "through": draft.plan["through"],
        "files": [file.path for file in draft.files if not file.reason],
        "references": [path for path, _ in draft.references],
        "worker_input_tokens": meter["input"],
        "worker_output_tokens": meter["output"],
        "worker_requests": meter["requests"],
        "worker_namespace": origin.namespace,
    }
