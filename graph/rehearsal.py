"""What a compaction would do with a history, planned by the code that does it, without calling a model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolCall

from longthread.graph.rehearsal_report import DryRun
from longthread.nodes.compaction.attempt import Hopeless, Opener, bounds
from longthread.nodes.compaction.carry import carried_appendix, cut_short
from longthread.nodes.compaction.commit import Draft
from longthread.nodes.history.cut import fit_tail, summary_only
from longthread.nodes.history.groups import match_results
from longthread.nodes.history.repair import repair
from longthread.nodes.history.snapshot import snapshot_message
from longthread.nodes.history.weights import TokenMeter
from longthread.nodes.policy import CompactionPolicy
from longthread.nodes.requests import Requests
from longthread.nodes.results import Tracked
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.state import AgentState, Occupancy, Trigger, merge_messages
from longthread.nodes.worker.state import Plan
from longthread.tools.results import calls_of
from longthread.tools.todo import TodoItem, open_todos, replace_todos, replay_todos
from longthread.tools.tracker import Action, FileRecord, merge_records, recent_files

OWN_TOOLS: Tracked = {"read_file": "path", "write_file": ("path", "written"), "edit_file": ("path", "edited")}


def dry_run(
    messages: Sequence[Any],
    config: CompactionConfig,
    *,
    todos: Sequence[TodoItem] | None = None,
    pruned_through: str | None = None,
    tracked_tools: Tracked | None = None,
    never_pruned: Sequence[str] = (),
    fixed_tokens: int | None = None,
    model: str | None = None,
) -> DryRun:
    """Plan a compaction of these messages without calling a model or reading a file.

    Args:
        messages: a history, of any agent, in any form that LangChain takes; nothing in it is changed.
        config: the settings to try.
        todos: the list; without it the last `todo_write` in the messages counts.
        pruned_through: as in the state of a thread.
        tracked_tools: as in `create_agent`, for the files that the history touched; our own are known.
        never_pruned: as in `create_agent`.
        fixed_tokens: of system prompt and tool schemas; without it what the provider measured beyond the messages,
            or nothing where no message says what was measured.
        model: whose measurements count; those of the model that answered last, if it is not given.
    """
    history = merge_messages(None, [list(messages)])
    given = replace_todos(None, [list(todos)]) if todos is not None else replay_todos(history)
    tracker = _touched(history, {**OWN_TOOLS, **(tracked_tools or {})})
    state = cast(
        "AgentState", {"messages": history, "todos": given, "tracker": tracker, "pruned_through": pruned_through}
    )
    keep = frozenset(never_pruned)
    fixed = _fixed(TokenMeter(0, model, keep), state) if fixed_tokens is None else fixed_tokens
    requests = Requests(None, "system", TokenMeter(fixed, model, keep), keep)
    return _Rehearsal(config, requests, Opener(config, requests, has_files=True)).of(state)


def _fixed(meter: TokenMeter, state: AgentState) -> int:
    """Local tokens of system prompt and schemas: what the provider measured beyond the messages."""
    messages, through = state["messages"], state.get("pruned_through")
    occupancy = meter.occupancy(messages, through)
    if occupancy["source"] == "estimated":
        return 0
    return max(0, round((occupancy["tokens"] - sum(meter.weights(messages, through))) / meter.ratio(messages)))


def _touched(history: Sequence[AnyMessage], tracked: Tracked) -> list[FileRecord]:
    """The tracker as the calls of a bare history leave it."""
    found = sorted(match_results(history).items(), key=lambda pair: pair[1])
    calls = [(calls_of(history[slot.message])[slot.call], history[result]) for slot, result in found]
    records = [_record(call, tracked[call["name"]]) for call, result in calls if _tells(call, result, tracked)]
    return merge_records(None, [records[n : n + 1] for n in range(len(records))])


def _tells(call: ToolCall, result: AnyMessage, tracked: Tracked) -> bool:
    spec = tracked.get(call["name"], "")
    argument = spec if isinstance(spec, str) else spec[0]
    return isinstance(call["args"].get(argument), str) and getattr(result, "status", None) != "error"


def _record(call: ToolCall, spec: str | tuple[str, str]) -> FileRecord:
    argument, action = (spec, "read") if isinstance(spec, str) else spec
    path, done = call["args"][argument], cast("Action", action)
    return FileRecord(path=path, hash="", action=done, call=call["id"] or "", known=True)


@dataclass(frozen=True)
class _Rehearsal:
    config: CompactionConfig
    requests: Requests
    opener: Opener

    @property
    def policy(self) -> CompactionPolicy:
        return CompactionPolicy(self.config)

    def of(self, state: AgentState) -> DryRun:
        before, step = self.requests.occupancy(state), self.requests.prune_step(state, self.config)
        pruned: AgentState = {**state, "pruned_through": step.through} if step else state
        after = self.requests.occupancy(pruned)
        # After an answer a compaction comes before any prune step.
        due = self._due_now(state, before) if _is_answered(state) else None
        state, due = (state, due) if due else (pruned, self._due_later(pruned, after))
        run = DryRun(self.config, before, due, step, after["tokens"], open_todos(state["todos"]))
        plan = self.opener.open(state, due or "user")
        if isinstance(plan, Hopeless):
            reason = f"{plan.outcome}: {plan.reason}"
            return replace(run, reason=reason, kept=list(state["messages"]), tokens_after=(after["tokens"],) * 2)
        return self._planned(run, state, plan)

    def _planned(self, run: DryRun, state: AgentState, plan: Plan) -> DryRun:
        messages = repair(state["messages"])
        start, end = bounds(messages, plan)
        tail = self._tail(messages, end)
        appendix = carried_appendix(
            messages[start:end], cut_short(messages[end:], tail), state["tracker"], self.config, plan["scale"]
        )
        snapshot = snapshot_message(messages, state["todos"], plan["number"])
        draft = Draft(messages[:start], "", appendix, [], [], snapshot, tail, plan, has_files=True)
        least = self.requests.meter.scaled(draft.messages({"number": plan["number"]}), messages)
        return replace(
            run,
            summarised=messages[start:end],
            kept=tail,
            pinned=[pin["text"] for pin in appendix["pinned"]],
            unpinned=appendix["unpinned"],
            files=recent_files(state["tracker"], self.config.recent_files),
            errors=appendix["errors"],
            tokens_after=(least, least + self.config.summary_max_tokens + self.config.auto_read_budget),
        )

    def _tail(self, messages: Sequence[AnyMessage], end: int) -> list[AnyMessage]:
        tail = summary_only(messages, self.requests.never_pruned)[end:]
        return fit_tail(tail, self.config.retained_tokens, sum(self.requests.meter.weights(tail, thread=messages)))

    def _due_now(self, state: AgentState, occupancy: Occupancy) -> Trigger | None:
        found: Trigger | None = self.policy.after_answer(state, AIMessage(""), occupancy)["compaction"]["pending"]
        return found

    def _due_later(self, state: AgentState, occupancy: Occupancy) -> Trigger | None:
        return self.policy.before_request(state, occupancy)["compaction"]["pending"] or self._due_now(state, occupancy)


def _is_answered(state: AgentState) -> bool:
    last = state["messages"][-1:]
    return bool(last) and isinstance(last[0], AIMessage) and not calls_of(last[0])
