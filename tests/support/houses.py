"""The houses whose real packages are tested, each with a strict stand-in for its server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from pydantic import SecretStr

from anthropic_wire import AnthropicHouse
from chat_wire import ChatHouse
from gemini_wire import GeminiHouse
from house_server import Body, Call, House, HouseServer
from responses_wire import ResponsesHouse

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
KEY = SecretStr("unused")


def _anthropic(url: str) -> BaseChatModel:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(  # type: ignore[call-arg]  # by alias, which pydantic's plugin would know
        model="claude-test",
        base_url=url,
        api_key=KEY,
        max_retries=0,
        max_tokens=4_000,
        thinking={"type": "enabled", "budget_tokens": 2_000},
    )


def _gemini(model: str) -> Callable[[str], BaseChatModel]:
    def make(url: str) -> BaseChatModel:
        from langchain_google_genai import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(model=model, base_url=url, api_key=KEY, max_retries=1, include_thoughts=True)

    return make


def _responses(url: str) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    reasoning = {"effort": "low", "summary": "auto"}
    return ChatOpenAI(
        model="gpt-5-mini",
        base_url=f"{url}/v1",
        api_key=KEY,
        max_retries=0,
        use_responses_api=True,
        reasoning=reasoning,
    )


def _chat(url: str) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model="gpt-5-mini", base_url=f"{url}/v1", api_key=KEY, max_retries=0, use_responses_api=False, stream_usage=True
    )


@dataclass(frozen=True)
class Home:
    """A house with its server running."""

    name: str
    server: HouseServer
    model: BaseChatModel

    @property
    def spoken(self) -> list[Body]:
        """The messages of the newest request, as they stand on the wire."""
        body = self.server.requests[-1]
        found: list[Body] = body.get("messages") or body.get("contents") or body["input"]
        return found


KINDS: dict[str, tuple[Callable[[], House], Callable[[str], BaseChatModel]]] = {
    "anthropic": (AnthropicHouse, _anthropic),
    "gemini": (GeminiHouse, _gemini("gemini-2.5-flash")),
    "gemini 3": (GeminiHouse, _gemini("gemini-3-pro-preview")),
    "responses": (ResponsesHouse, _responses),
    "chat": (ChatHouse, _chat),
}
PLAN: Call = ("todo_write", {"todos": [{"id": "1", "content": "write the docs", "status": "pending"}]})
IMAGE: list[str | dict[Any, Any]] = [
    {"type": "text", "text": "see"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
]


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"{at} is fine"


@tool
def photograph() -> list[dict[str, Any]]:
    """Take a picture."""
    return [{"type": "text", "text": "here"}, {"type": "image", "base64": PNG, "mime_type": "image/png"}]
