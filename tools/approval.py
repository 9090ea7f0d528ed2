"""Ask the user before an action, through an interrupt.

Request and decision have the shape of LangChain's `HumanInTheLoopMiddleware`, so that a client
that knows one knows the other: `{"decisions": [{"type": "approve"}]}`, or `"edit"` with
`"edited_action": {"name", "args"}`, or `"reject"` with a `"message"`.
"""

from collections.abc import Mapping
from typing import Any

from langgraph.types import interrupt

DECISIONS = ("approve", "edit", "reject")


class Rejected(Exception):
    """The user said no; the text is the user's message, maybe empty."""


class InvalidDecision(ValueError):
    """The answer to the interrupt does not have the expected shape."""


def ask(name: str, args: Mapping[str, Any], description: str) -> dict[str, Any]:
    """The arguments to go on with: as asked, or as the user edited them.

    Raises:
        Rejected: the user said no.
        InvalidDecision: names what is wrong with the answer and what it should be.
    """
    request = {
        "action_requests": [{"name": name, "args": dict(args), "description": description}],
        "review_configs": [{"action_name": name, "allowed_decisions": list(DECISIONS)}],
    }
    decision = _only_decision(interrupt(request))
    kind = decision.get("type")
    if kind == "approve":
        return dict(args)
    if kind == "reject":
        raise Rejected(str(decision.get("message") or ""))
    if kind == "edit":
        return _edited(name, decision.get("edited_action"))
    raise InvalidDecision(f"the decision has type {kind!r}; it must be one of {', '.join(DECISIONS)}")


def _only_decision(answer: Any) -> dict[str, Any]:
    decisions = answer.get("decisions") if isinstance(answer, dict) else None
    if not isinstance(decisions, list) or len(decisions) != 1 or not isinstance(decisions[0], dict):
        raise InvalidDecision('the answer must be {"decisions": [decision]} with exactly one decision for this action')
    return decisions[0]


def _edited(name: str, action: Any) -> dict[str, Any]:
    args = action.get("args") if isinstance(action, dict) else None
    if not isinstance(args, dict):
        raise InvalidDecision('an edit needs "edited_action": {"name", "args"}')
    if action.get("name", name) != name:
        raise InvalidDecision(f"an edit may change the arguments of {name!r}, not the tool: {action.get('name')!r}")
    return args
