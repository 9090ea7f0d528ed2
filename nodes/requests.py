"""How this agent's requests are made and measured: the same for every node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage

from longthread.nodes.history.request import build_request
from longthread.nodes.history.weights import TokenMeter
from longthread.nodes.state import Occupancy


@dataclass(frozen=True)
class Requests:
    """What a request consists of besides the history."""

    system_prompt: str | None
    system_role: Literal["system", "user"]
    meter: TokenMeter
    never_pruned: frozenset[str] = frozenset()
    """Names of tools whose results are always shown whole."""
    name: str | None = None
    """The agent's own name; its answers carry it in the history and not on the wire."""

    def build(self, messages: Sequence[AnyMessage], pruned_through: str | None) -> list[AnyMessage]:
        """The next request: system prompt and history, repaired, pruned, with roles adapted."""
        return build_request(
            [self._unnamed(message) for message in messages],
            system_prompt=self.system_prompt,
            pruned_through=pruned_through,
            system_role=self.system_role,
            keep=self.never_pruned,
        )

    def _unnamed(self, message: AnyMessage) -> AnyMessage:
        """Some servers refuse a name on assistant messages, others a name with a space in it."""
        named = isinstance(message, AIMessage) and message.name is not None and message.name == self.name
        return message.model_copy(update={"name": None}) if named else message

    def occupancy(self, state: Mapping[str, Any]) -> Occupancy:
        """Tokens that the next request will fill."""
        return self.meter.occupancy(state["messages"], state.get("pruned_through"))
