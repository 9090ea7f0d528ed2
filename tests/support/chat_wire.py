"""OpenAI's chat completions as a house, with usage in detail; what is refused is in `openai_wire`."""

from collections.abc import Iterator

import openai_wire
from house_server import Body, Refused, Said
from openai_wire import Reply


class ChatHouse:
    """Takes system messages anywhere, or with `system_first` at the head only, as strict chat templates do."""

    def __init__(self, system_first: bool = False) -> None:
        self.system_first = system_first

    def fault(self, path: str, body: Body) -> str | None:
        return openai_wire.fault(body, self.system_first) if path == "/v1/chat/completions" else f"Invalid URL {path}"

    def refusal(self, refused: Refused) -> Body:
        return openai_wire.Refusal(refused.status, refused.message, code=refused.kind or None).body()

    def failure(self, refused: Refused) -> Body:
        return self.refusal(refused)

    def streams(self, path: str, body: Body) -> bool:
        return bool(body.get("stream"))

    def whole(self, said: Said, number: int, body: Body) -> Body:
        return {**openai_wire.completion(_reply(said), number, body, usage=True), "usage": _usage(said)}

    def events(self, said: Said, number: int, body: Body) -> Iterator[Body]:
        for event in openai_wire.events(_reply(said), number, body, usage=True):
            yield {**event, "usage": _usage(said)} if "usage" in event else event


def _reply(said: Said) -> Reply:
    return Reply(said.text, calls=said.calls)


def _usage(said: Said) -> Body:
    spent = said.spent
    return {
        "prompt_tokens": spent.whole_input,
        "prompt_tokens_details": {"cached_tokens": spent.read},
        "completion_tokens": spent.output,
        "completion_tokens_details": {"reasoning_tokens": spent.reasoning},
        "total_tokens": spent.whole_input + spent.output,
    }
