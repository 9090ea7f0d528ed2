"""A provider with a tokenizer of its own, that measures every request of a thread and stamps the answers."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from longthread.nodes.history.prune import show_pruned
from longthread.nodes.history.repair import repair
from longthread.tools.tokens import count_message


def usage(tokens_in: int, tokens_out: int, **details: Any) -> UsageMetadata:
    """Usage as a provider's package reports it."""
    total = tokens_in + tokens_out
    return {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": total, **details}  # type: ignore[typeddict-item]  # details are its optional keys


class Provider:
    """Its tokens of a message are `slope` × local + an offset by kind; `fixed` is its prompt and schemas."""

    def __init__(self, slope: float = 1.0, offset: float = 0, fixed: int = 0, model: str | None = "model-a") -> None:
        self.slope, self.offset, self.fixed, self.model = slope, offset, fixed, model

    def of(self, message: AnyMessage) -> int:
        """What it counts for one message."""
        wrapping = self.offset if isinstance(message, ToolMessage) else self.offset / 4
        return round(self.slope * count_message(message) + wrapping)

    def request(self, messages: Sequence[AnyMessage], pruned: str | None = None) -> int:
        """What it counts for the next request with this history."""
        return self.fixed + sum(map(self.of, show_pruned(repair(messages), pruned)))

    def answer(self, history: Sequence[AnyMessage], message: AIMessage, pruned: str | None = None) -> AIMessage:
        """The message as the answer to a request with this history: measured and stamped."""
        stamp = {"n": len(history), "first": history[0].id if history else None, "pruned": pruned}
        return message.model_copy(
            update={
                "id": message.id or f"m{len(history)}",
                "usage_metadata": usage(self.request(history, pruned), self.of(message)),
                "response_metadata": {"model_name": self.model} if self.model else {},
                "additional_kwargs": {**message.additional_kwargs, "request": stamp},
            }
        )
