"""Which calls of an answer run next.

Calls that change things are barriers: they run alone and in call order, the others between them
side by side. Calls that hand over to another agent come last, so that nothing is under way when
the agent ends with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from longthread.nodes.history.speakers import is_own, is_users, source_of

HANDOFFS = ("__handoff_destination", "hands_over")
"""Keys in a tool's `metadata` that mark a handoff: that of langgraph-swarm and langgraph-supervisor, and our own."""


@dataclass(frozen=True)
class CallOrder:
    """The order for the tools of one agent."""

    agent: str
    """Its name: calls of another agent, in a history that it took over, are not its to run."""
    mutating: frozenset[str] = frozenset()
    handoffs: frozenset[str] = frozenset()

    @classmethod
    def of(cls, agent: str, tools: Sequence[BaseTool], tracked: Mapping[str, str | tuple[str, str]]) -> "CallOrder":
        """By the tools' `metadata`, and by what `tracked_tools` says of them."""
        marked = {tool.name for tool in tools if (tool.metadata or {}).get("mutates")}
        changing = {name for name, spec in tracked.items() if not isinstance(spec, str) and spec[1] != "read"}
        return cls(agent, frozenset(marked | changing), frozenset(tool.name for tool in tools if is_handoff(tool)))

    def next_batch(self, messages: Sequence[AnyMessage]) -> list[ToolCall]:
        """Those before the next barrier, or that one alone."""
        calls = sorted(unanswered(messages, self.agent), key=lambda call: call["name"] in self.handoffs)
        barriers = self.mutating | self.handoffs
        barrier = next((n for n, call in enumerate(calls) if call["name"] in barriers), len(calls))
        return calls[: max(barrier, 1)]


def is_handoff(tool: BaseTool) -> bool:
    """The tool is marked as one that ends the agent's run with a `Command` to the parent graph."""
    return any((tool.metadata or {}).get(key) for key in HANDOFFS)


def unanswered(messages: Sequence[AnyMessage], agent: str | None = None) -> list[ToolCall]:
    """Calls of the agent's newest assistant message that have no result yet, in call order.

    None after a user's message, and none after another agent's: whoever wrote over an unfinished
    run dropped its calls.
    """
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage) and not source_of(message):
            own = message.tool_calls if is_own(message, agent) else []
            return [call for call in own if call["id"] not in answered]
        elif is_users(message):
            return []
    return []
