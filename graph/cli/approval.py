"""Asks the person at the terminal whether a command may run."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.types import Command, Interrupt
from rich.text import Text

from longthread.graph.cli.printable import visible
from longthread.graph.cli.views import View, make_console
from longthread.tools.text import clean

NOBODY = (
    "not in person, it was declined because nobody could be asked here and commands need approval; "
    "--allow-commands always runs them unasked"
)
"""Goes on after the tool's own words, `The user rejected this command: `."""
QUESTION = "run it? [y]es, [n]o, [a]lways in this session: "
WHY = "what shall the agent do instead? (Enter: nothing said) "


class Approver:
    """Answers the questions of a run; "always" holds for as long as this object."""

    def __init__(self, view: View, ask: Callable[[str], str] = input) -> None:
        self._view = view
        self._ask = ask
        self._always = False

    def answer(self, questions: Sequence[Interrupt]) -> Command[Any]:
        """What to resume the run with."""
        return Command(resume={question.id: self._decisions(question.value) for question in questions})

    def _decisions(self, value: Any) -> dict[str, Any]:
        requests = value.get("action_requests", []) if isinstance(value, Mapping) else []
        return {"decisions": [self._decide(request) for request in requests]}

    def _decide(self, request: Mapping[str, Any]) -> dict[str, Any]:
        decision = self._decision(request)
        event = {"event": "approval", "name": request["name"], "args": dict(request["args"])}
        self._view.show(event | {"decision": decision["type"], "reason": decision.get("message", "")})
        return decision

    def _decision(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if self._always:
            return {"type": "approve"}
        if not (self._view.interactive and sys.stdin.isatty()):
            return {"type": "reject", "message": NOBODY}
        with self._view.paused():
            return self._put(request)

    def _put(self, request: Mapping[str, Any]) -> dict[str, Any]:
        command = visible(str(request["args"].get("command", request["args"])))
        make_console().print(Text("the agent wants to run\n", "bold yellow").append(_indented(command), "bold"))
        while True:
            answer = self._heard(QUESTION).lower()
            if answer in ("y", "yes", "a", "always"):
                self._always = answer.startswith("a")
                return {"type": "approve"}
            if answer in ("n", "no"):
                return {"type": "reject", "message": self._heard(WHY)}

    def _heard(self, question: str) -> str:
        """A line from the terminal; its end counts as "no"."""
        try:
            return clean(self._ask(question)).strip()
        except KeyboardInterrupt:
            make_console().print()  # What is said next begins on a line of its own.
            raise
        except EOFError:
            make_console().print()
            return "no" if question is QUESTION else ""


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
