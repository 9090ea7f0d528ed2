"""The second projection of a request: old tool results are shown by their one-line summary.

The history itself is not changed. What is hidden is a prefix of it that only grows, and it grows
in steps that save a stated minimum, so that the provider's cached prefix breaks rarely.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from longthread.nodes.history.repair import request_order
from longthread.tools.results import summary_of, text_of
from longthread.tools.text import one_line

ERROR_HEAD = 2
ERROR_TAIL = 4
CLEARED = "cleared"


@dataclass(frozen=True)
class PruneStep:
    """One step forward."""

    through: str
    """Id of the last message that is hidden now."""
    saved: int
    """Tokens."""
    calls: list[str]
    """Ids, as the history has them, of the calls whose results were shown whole before."""


def shown_form(message: ToolMessage) -> ToolMessage:
    """A result as it is shown once it is pruned: its summary; of an error the first and last lines.

    The message itself where that would not be shorter, or where it is in this form already.
    """
    if message.additional_kwargs.get(CLEARED):
        return message
    short = _error_text(message) if message.status == "error" else _cleared_text(message)
    if _is_text(message) and len(short) >= len(text_of(message)):
        return message
    marked = {**message.additional_kwargs, CLEARED: True, "summary": summary_of(message)}
    return message.model_copy(update={"content": short, "additional_kwargs": marked})


def _cleared_text(message: ToolMessage) -> str:
    return f"[Cleared to save space; repeat the call if the full result is needed.] {summary_of(message)}"


def _error_text(message: ToolMessage) -> str:
    lines = [one_line(line) for line in text_of(message).splitlines()]
    cleared = len(lines) - ERROR_HEAD - ERROR_TAIL
    if cleared > 1:
        lines[ERROR_HEAD:-ERROR_TAIL] = [f"[… {cleared} lines cleared to save space …]"]
    return "\n".join(lines)


def _is_text(message: ToolMessage) -> bool:
    if isinstance(message.content, str):
        return True
    return all(isinstance(block, str) or block.get("type") == "text" for block in message.content)


def show_pruned(
    messages: Sequence[AnyMessage], pruned_through: str | None, keep: Collection[str] = ()
) -> list[AnyMessage]:
    """The messages with every tool result up to and including the message `pruned_through` in its shown form.

    Results of the tools named in `keep`, and those marked `additional_kwargs["never_prune"]`, stay
    whole. An id that no message has hides nothing.
    """
    end = _after(messages, pruned_through)
    shown = [_shown(message, keep) for message in messages[:end]]
    return [*shown, *messages[end:]]


def _after(messages: Sequence[AnyMessage], pruned_through: str | None) -> int:
    if pruned_through is None:
        return 0
    return next((n for n in range(len(messages), 0, -1) if messages[n - 1].id == pruned_through), 0)


def _shown(message: AnyMessage, keep: Collection[str]) -> AnyMessage:
    if not isinstance(message, ToolMessage) or message.name in keep or message.additional_kwargs.get("never_prune"):
        return message
    return shown_form(message)


def plan_step(
    messages: Sequence[AnyMessage],
    weights: Sequence[int],
    pruned_through: str | None,
    *,
    protected: int,
    min_savings: int,
    keep: Collection[str] = (),
    shown_weight: Callable[[ToolMessage], int],
) -> PruneStep | None:
    """The step that would hide everything outside the newest `protected` tokens of tool results.

    Args:
        messages: the history, repaired or not; a result counts where it stands in the request.
        weights: tokens of each message shown whole, one for each.
        pruned_through: what is hidden already; the step never goes back behind it.
        protected: tokens of the newest tool results that stay whole. Those that the model has not
            answered yet stay too, whatever they weigh.
        min_savings: tokens; `None` is returned when the step would save less.
        keep: names of tools whose results stay whole.
        shown_weight: tokens of a result in the shown form that it is given.
    """
    order = request_order(messages)
    ordered, weighed = [messages[n] for n in order], [weights[n] for n in order]
    start, end = _after(ordered, pruned_through), _protected_from(ordered, weighed, protected)
    hidden = list(_newly_hidden(ordered[start:end], weighed[start:end], keep))
    saved = sum(weight - shown_weight(shown) for shown, weight in hidden)
    named = [shown.id for shown, _ in hidden if shown.id]
    if not named or saved < min_savings:
        return None
    return PruneStep(named[-1], saved, [_call_of(shown) for shown, _ in hidden])


def _protected_from(messages: Sequence[AnyMessage], weights: Sequence[int], protected: int) -> int:
    answered = False
    used = 0
    for index in range(len(messages) - 1, -1, -1):
        answered = answered or isinstance(messages[index], AIMessage)
        if isinstance(messages[index], ToolMessage):
            used += weights[index]
            if answered and used > protected:
                return index + 1
    return 0


def _newly_hidden(
    messages: Sequence[AnyMessage], weights: Sequence[int], keep: Collection[str]
) -> Iterator[tuple[ToolMessage, int]]:
    for message, weight in zip(messages, weights, strict=True):
        shown = _shown(message, keep)
        if isinstance(shown, ToolMessage) and shown is not message:
            yield shown, weight


def _call_of(message: ToolMessage) -> str:
    return str(message.additional_kwargs.get("call", message.tool_call_id))
