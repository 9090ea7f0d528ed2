"""How a compaction is opened: what is summarised, what cannot shrink, what the worker is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from longthread.nodes.history.cut import SMALLEST, Cut, find_cut, summary_only
from longthread.nodes.history.overview import overview_entries
from longthread.nodes.history.rebuild import carried_text, last_summary, rebuilt_until
from longthread.nodes.history.repair import repair
from longthread.nodes.history.snapshot import listed_todos
from longthread.nodes.history.speakers import head_length, is_graphs_own, is_users
from longthread.nodes.requests import Requests
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.state import AgentState, Outcome, Trigger
from longthread.nodes.worker.state import Brief, Plan
from longthread.tools.cut import cut_middle
from longthread.tools.tracker import recent_files
from longthread.tools.worker import EMPTY_DESK, Reference

REFUSED_SHARE = 0.75
"""A request that the provider refused must shrink below this share of its size."""
NEEDED: tuple[Trigger, ...] = ("compact_request_threshold", "context_refused")
"""Here a newest message that is too long alone is cut, although nothing stands before it to be summarised."""
LEAST_GAIN = 0.05
"""Of the threshold that asked; a larger `prune_min_savings` asks for no more."""
INSTRUCTION_TOKENS = 1_000
"""Of what the user says beside a wish to compact, in local tokens."""


@dataclass(frozen=True)
class Hopeless:
    """An attempt that is not begun, and why."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class Opener:
    """Opens attempts for one agent."""

    config: CompactionConfig
    requests: Requests
    has_files: bool

    def open(self, state: AgentState, trigger: Trigger) -> Plan | Hopeless:
        """The plan of an attempt, or why there is none."""
        messages = repair(state["messages"])
        cut, weights = self.cut(messages, state.get("pruned_through"))
        tokens = self.requests.occupancy(state)["tokens"]
        if hopeless := self._irreducible(state, weights, cut, trigger, tokens):
            return hopeless
        summarised = messages[cut.head : cut.start]
        overlong = trigger in NEEDED and sum(weights[cut.start :]) > self.config.retained_tokens
        if not (overlong or _is_worth_summarising(summarised, trigger)):
            return Hopeless("nothing", "nothing stands before the messages that are kept")
        return Plan(
            trigger=trigger,
            first=(summarised[0].id or "") if summarised else "",
            last=(summarised[-1].id or "") if summarised else "",
            summarised=len(summarised),
            through=_through(summarised),
            tokens_before=tokens,
            hidden=self.requests.hidden(state),
            number=next_number(state),
            scale=self.requests.meter.ratio(state["messages"]),
        )

    def cut(self, messages: Sequence[AnyMessage], pruned_through: str | None = None) -> tuple[Cut, list[int]]:
        """Where to cut a repaired history, and the weights in summary-only form that decide it."""
        head, retained = head_length(messages), self.config.retained_tokens
        begin, meter = max(head, rebuilt_until(messages)), self.requests.meter
        weights = meter.weights(summary_only(messages, self.requests.never_pruned), thread=messages)
        cut = find_cut(messages, weights, begin, retained)
        if cut.start == begin and sum(whole := meter.weights(messages, pruned_through)[begin:]) > retained:
            # In summary-only form everything would fit, but that is not what fills the window now.
            cut = find_cut(messages, [*weights[:begin], *whole], begin, retained)
        return Cut(head, cut.start), weights

    def target(self, trigger: Trigger, tokens_before: int) -> int:
        """The new history must be smaller than this."""
        thresholds = {
            "compact_threshold": self.config.compact_threshold,
            "compact_request_threshold": self.config.compact_request_threshold,
            "context_refused": int(tokens_before * REFUSED_SHARE),
        }
        return min(tokens_before, thresholds.get(trigger) or tokens_before)

    def is_gain(self, trigger: Trigger, before: int, after: int) -> bool:
        """A new history of `after` tokens is worth its worker: one that gains next to nothing is due again at once."""
        target = self.target(trigger, before)
        least = 1 if trigger == "user" else min(self.config.prune_min_savings, int(target * LEAST_GAIN))
        return after < target and before - after >= least

    def _irreducible(
        self, state: AgentState, weights: Sequence[int], cut: Cut, trigger: Trigger, tokens: int
    ) -> Hopeless | None:
        """System prompt, tools and the smallest tail alone are too large."""
        meter, messages = self.requests.meter, state["messages"]
        fixed = meter.scaled([], messages) + self.requests.hidden(state) + sum(weights[: cut.head])
        smallest = min(SMALLEST * meter.ratio(messages), self.config.retained_tokens)
        needed = min(tokens, fixed + round(sum(min(weight, smallest) for weight in weights[cut.start :])))
        target = self.target(trigger, tokens)
        if trigger == "user" or needed < target:
            return None
        return Hopeless(
            "irreducible",
            f"system prompt, tools and the newest messages need {needed} tokens at least, which is not below "
            f"{target}; raise the threshold or shorten the system prompt or the tools",
        )

    def worker_input(self, state: AgentState, plan: Plan, instructions: str) -> dict[str, Any]:
        """The state that the worker begins with."""
        brief = self.brief(state, plan, instructions)
        references = [Reference(path=path, note="") for path in self._recent(state)]
        return {
            "plan": plan,
            "brief": [brief],
            "desk": [{**EMPTY_DESK, "references": references}],
            "meter": {"input": 0, "output": 0, "requests": 0, "scale": plan["scale"]},
            "status": {"asked_for": [], "shrinks": 0, "ended": None, "repeats": 0},
        }

    def brief(self, state: AgentState, plan: Plan, instructions: str) -> Brief:
        """What the worker is told of the history."""
        messages = repair(state["messages"])
        summarised = between(messages, plan)
        return {
            "entries": overview_entries(summarised),
            "previous": carried_text(last_summary(summarised)),
            "todos": listed_todos(messages, state.get("todos") or []),
            "files": self._recent(state) if self.config.auto_read_budget else [],
            "summary_tokens": self.config.summary_max_tokens,
            "instructions": cut_middle(instructions, INSTRUCTION_TOKENS, "shortened"),
        }

    def _recent(self, state: AgentState) -> list[str]:
        """Files that the worker can read and refer to."""
        return recent_files(state.get("tracker") or [], self.config.recent_files) if self.has_files else []


def _is_worth_summarising(messages: Sequence[AnyMessage], trigger: Trigger) -> bool:
    """There is something of the conversation; after a refusal, files that were read in can go as well."""
    return bool(messages) and (trigger == "context_refused" or not all(map(is_graphs_own, messages)))


def _through(summarised: Sequence[AnyMessage]) -> list[str]:
    """How far a caller that hands in the whole conversation again has been summarised."""
    last_user = next((m.id for m in reversed(summarised) if is_users(m)), None)
    last_answer = next((m.id for m in reversed(summarised) if isinstance(m, AIMessage) and not m.tool_calls), None)
    summary = last_summary(summarised)
    carried = (summary.additional_kwargs.get("segment") or {}).get("through", []) if summary else []
    found = [identity for identity in dict.fromkeys((last_user, last_answer)) if identity] or carried
    last = summarised[-1].id if summarised else None
    return [*found, *([last] if last and last not in found else [])]


def between(messages: Sequence[AnyMessage], plan: Plan) -> list[AnyMessage]:
    """The messages that the plan summarises."""
    start, end = bounds(messages, plan)
    return list(messages[start:end])


def bounds(messages: Sequence[AnyMessage], plan: Plan) -> tuple[int, int]:
    """Index of the first summarised message, and of the first that is kept."""
    if not plan["summarised"]:
        return head_length(messages), head_length(messages)
    places = {message.id: n for n, message in enumerate(messages)}
    return places[plan["first"]], places[plan["last"]] + 1


def next_number(state: Mapping[str, Any]) -> int:
    """The number of the next segment, also where only the messages travelled."""
    recorded = [segment["number"] for segment in state.get("segments") or []]
    summary = last_summary(state["messages"])
    carried = summary.additional_kwargs.get("segment") if summary else None
    return int(max([0, *recorded, carried["number"] if carried else 0])) + 1
