"""How this agent's requests are made and measured: the same for every node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AnyMessage

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

    def build(self, messages: Sequence[AnyMessage], pruned_through: str | None) -> list[AnyMessage]:
        """The next request: system prompt and history, repaired, pruned, with roles adapted."""
        return build_request(
            messages,
            system_prompt=self.system_prompt,
            pruned_through=pruned_through,
            system_role=self.system_role,
            keep=self.never_pruned,
        )

    def occupancy(self, state: Mapping[str, Any]) -> Occupancy:
        """Tokens that the next request will fill."""
        return self.meter.occupancy(state["messages"], state.get("pruned_through"))
