"""How this agent's requests are made and measured: the same for every node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage

from longthread.nodes.history.cache_marks import with_cache_marks
from longthread.nodes.history.pictures import images_by_user
from longthread.nodes.history.prune import PruneStep, plan_step, show_pruned
from longthread.nodes.history.reasoning import without_foreign_reasoning
from longthread.nodes.history.request import build_request
from longthread.nodes.history.weights import TokenMeter
from longthread.nodes.settings import CompactionConfig
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
    provider: str | None = None
    """As LangChain calls it; reasoning that another house wrote stays out of the request."""
    user_images: bool = False
    """Images of tool results travel in a user message after them."""
    cache_marks: bool = False
    """The prompt cache must be asked for: blocks of the request carry `cache_control`, those of the state never."""

    def build(self, messages: Sequence[AnyMessage], pruned_through: str | None) -> list[AnyMessage]:
        """The next request: system prompt and history, repaired, pruned, with roles adapted."""
        own = without_foreign_reasoning(messages, self.provider)
        request = build_request(
            [self._unnamed(message) for message in own],
            system_prompt=self.system_prompt,
            pruned_through=pruned_through,
            system_role=self.system_role,
            keep=self.never_pruned,
        )
        request = images_by_user(request) if self.user_images else request
        return with_cache_marks(request) if self.cache_marks else request

    def _unnamed(self, message: AnyMessage) -> AnyMessage:
        """Some servers refuse a name on assistant messages, others a name with a space in it."""
        named = isinstance(message, AIMessage) and message.name is not None and message.name == self.name
        return message.model_copy(update={"name": None}) if named else message

    def prune_step(self, state: Mapping[str, Any], config: CompactionConfig) -> PruneStep | None:
        """The prune step that is due, if one pays."""
        messages, through = state["messages"], state.get("pruned_through")
        return plan_step(
            messages,
            self.meter.weights(messages, through),
            through,
            protected=config.prune_protected_tokens,
            min_savings=config.prune_min_savings,
            keep=self.never_pruned,
            shown_weight=self.meter.shown_weight(messages),
        )

    def hidden(self, state: Mapping[str, Any]) -> int:
        """Tokens that the provider measures in a request beyond all that can be counted of it; 0 for none."""
        occupancy, messages = self.occupancy(state), state["messages"]
        if occupancy["source"] == "estimated":
            return 0
        counted = self.meter.scaled(show_pruned(messages, state.get("pruned_through"), self.never_pruned), messages)
        return max(0, occupancy["tokens"] - counted)

    def occupancy(self, state: Mapping[str, Any]) -> Occupancy:
        """Tokens that the next request will fill."""
        return self.meter.occupancy(state["messages"], state.get("pruned_through"))
