"""How a compaction is committed: the new history built, measured, reduced once, and written in one update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite

from longthread.nodes.compaction.attempt import Opener, bounds
from longthread.nodes.compaction.auto_read import ReadIn, marks_by_recency, read_marked
from longthread.nodes.compaction.carry import carried_appendix, cut_short, known_records, references_of
from longthread.nodes.compaction.visible import is_visible, shown_calls
from longthread.nodes.history.appendix import Appendix
from longthread.nodes.history.cut import fit_tail, summary_only
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
    has_files: bool
    """The agent has `read_file`."""

    def messages(self, segment: Mapping[str, Any]) -> list[AnyMessage]:
        """The history in its order."""
        number = self.plan["number"]
        files = [
            missing_file_message(f"{number}-{n}", file.path, file.reason)
            if file.reason
            else file_message(f"{number}-{n}", file.path, file.lines, file.text, file.note)
            for n, file in enumerate(self.files, 1)
        ]
        references = [references_message(number, self.references, self.has_files)] if self.references else []
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
            draft = self._pinned(self._reduced(draft, state, excess), state, target)
        size = self._size(draft, state)
        if not self.opener.is_gain(plan["trigger"], plan["tokens_before"], size):
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
        tail = self._fitted(messages, summary_only(messages, self.opener.requests.never_pruned)[end:])
        tracker = state.get("tracker") or []
        marks = desk["marks"] or marks_by_recency(
            self.workspace, recent_files(tracker, config.recent_files), config.auto_read_budget // 2, plan["scale"]
        )
        read = read_marked(self.workspace, marks, plan["scale"])
        files = [file for file in read if not is_visible(file, tracker, tail)]
        return Draft(
            head=list(messages[:start]),
            summary=summary,
            appendix=self._appendix(state, messages[start:end], messages[end:], tail, plan),
            files=files,
            references=references_of(desk, tracker, read, files),
            snapshot=snapshot_message(messages, state.get("todos") or [], plan["number"]),
            tail=tail,
            plan=plan,
            has_files=self.workspace is not None,
        )

    def _appendix(
        self,
        state: AgentState,
        summarised: Sequence[AnyMessage],
        kept: Sequence[AnyMessage],
        tail: Sequence[AnyMessage],
        plan: Plan,
    ) -> Appendix:
        tracker, cut = state.get("tracker") or [], cut_short(kept, tail)
        return carried_appendix(summarised, cut, tracker, self.opener.config, plan["scale"])

    def _fitted(
        self, messages: Sequence[AnyMessage], tail: Sequence[AnyMessage], budget: int | None = None
    ) -> list[AnyMessage]:
        """The tail of these messages within `budget` tokens, `retained_tokens` if it is not given."""
        weight = sum(self.opener.requests.meter.weights(tail, thread=messages))
        return fit_tail(tail, self.opener.config.retained_tokens if budget is None else budget, weight)

    def _size(self, draft: Draft, state: AgentState) -> int:
        """Tokens of the next request with this history."""
        counted = self.opener.requests.meter.scaled(draft.messages({"number": 0}), state["messages"])
        return counted + draft.plan["hidden"]

    def _pinned(self, draft: Draft, state: AgentState, target: int) -> Draft:
        """The reduced draft with what it cut of the user's words pinned, where there is room for it."""
        messages = repair(state["messages"])
        start, end = bounds(messages, draft.plan)
        appendix = self._appendix(state, messages[start:end], messages[end:], draft.tail, draft.plan)
        pinned = replace(draft, appendix=appendix)
        return pinned if self._size(pinned, state) < target else draft

    def _reduced(self, draft: Draft, state: AgentState, excess: int) -> Draft:
        """The draft with the tail shortened, then with fewer files, which become references."""
        weight = sum(self.opener.requests.meter.weights(draft.tail, thread=state["messages"]))
        tail = self._fitted(state["messages"], draft.tail, max(0, weight - excess))
        draft = replace(draft, tail=tail)
        target = self.opener.target(draft.plan["trigger"], draft.plan["tokens_before"])
        while draft.files and self._size(draft, state) >= target:
            *files, dropped = draft.files
            named = [] if dropped.reason else [(dropped.path, "")]
            draft = replace(draft, files=files, references=[*draft.references, *named])
        return draft


def _segment(draft: Draft, desk: Desk, meter: Meter, size: int, origin: Origin) -> SegmentRecord:
    return {
        "number": draft.plan["number"],
        "scale": draft.plan["scale"],
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
