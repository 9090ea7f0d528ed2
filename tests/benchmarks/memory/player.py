"""The main model of the session: plays the script, and looks at the first request after each compaction."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from longthread.graph.scripted import ScriptedChatModel, call, say, scripted_tokens
from memory.ledger import Ledger
from memory.session import Step, Turn, session, test_output

SUMMARIES = ("compaction_summary", "summarization")
"""How longthread, and LangChain and deepagents, mark the message that holds a summary."""


@dataclass(frozen=True)
class Sight:
    """The share of each category that one request shows, and its tokens; `None` where nothing was planted."""

    shares: dict[str, float | None]
    tokens: int


@dataclass
class Player:
    """One session with one contestant."""

    workspace: Path
    todo_call: Callable[[Step], ToolCall]
    """The contestant's own tool for todos."""
    schema_tokens: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    sights: list[Sight] = field(default_factory=list)
    _turn: list[Step] = field(default_factory=list)
    _step: Step = field(default_factory=lambda: Step(""))
    _seen: str = ""

    def model(self) -> ScriptedChatModel:
        """The model that follows the script."""
        return ScriptedChatModel(self._answer, prefix="main")

    def prompts(self) -> Iterator[str]:
        """The user's messages, one for each turn."""
        for turn in session():
            self._begin(turn)
            yield turn.prompt
            assert not self._turn, "the turn ended before its script"

    def _begin(self, turn: Turn) -> None:
        self.ledger.hear(turn)
        self._turn = list(turn.steps)

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        self._look(messages)
        self._step = step = self._turn.pop(0)
        self.ledger.take(step)
        if not step.tool:
            return say(step.text)
        made = self.todo_call(step) if step.tool == "todo_write" else call(step.tool, **step.args)
        return say(step.text, made)

    def test_output(self) -> tuple[str, bool]:
        """What `run_tests` returns for the call in hand, and whether it is an error."""
        return test_output(self._step), self._step.fails

    def _look(self, messages: Sequence[BaseMessage]) -> None:
        newest = next((f"{m.id} {m.text}" for m in messages if _marked(m) in SUMMARIES), "")
        if newest != self._seen:
            self._seen = newest
            shares = self._shares("\n".join(map(visible, messages)))
            self.sights.append(Sight(shares, scripted_tokens(messages) + self.schema_tokens))

    def _shares(self, text: str) -> dict[str, float | None]:
        ledger = self.ledger
        lines = [line for path in ledger.last_read for line in (self.workspace / path).read_text().splitlines()]
        planted = {
            "directives": ledger.directives,
            "todos": ledger.todos,
            "edited": ledger.edited,
            "errors": ledger.last_errors,
            "files": lines,
            "else": ledger.notes,
            "unspoken": ledger.unspoken,
        }
        return {name: share(facts, text) for name, facts in planted.items()}


def _marked(message: BaseMessage) -> str | None:
    return message.additional_kwargs.get("source") or message.additional_kwargs.get("lc_source")


def visible(message: BaseMessage) -> str:
    """What the model reads of a message: its text, and the arguments of its calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return "\n".join([str(message.text), *(json.dumps(call["args"], ensure_ascii=False) for call in calls)])


def share(facts: Sequence[str], text: str) -> float | None:
    """The share of the facts that stand in the text word for word."""
    return sum(fact in text for fact in facts) / len(facts) if facts else None
