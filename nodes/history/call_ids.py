"""Call ids that are unique in a request, and names that a provider takes.

Some models number their calls anew in each message, and an aborted stream may leave an id empty.
Anthropic refuses a request with an id used twice, others confuse the results. The first use of an
id keeps it; a later one gets an id that depends on what precedes it only, so requests stay
prefixes of one another.
"""

import re
from collections import Counter
from uuid import NAMESPACE_OID, uuid5

from langchain_core.messages import AIMessage, ToolCall

from longthread.nodes.history.content import sound_content, with_calls
from longthread.tools.results import calls_of

UNKNOWN_TOOL = "unknown_tool"
MAX_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def sound_name(name: str) -> str:
    """A tool's name in the alphabet and length that OpenAI, Anthropic and Google take; itself if it is so already.

    Models make names up, and one wrong name would have every later request of the thread refused.
    """
    return _NOT_IN_NAMES.sub("_", name.strip())[:MAX_NAME] or UNKNOWN_TOOL


class CallIds:
    """Gives out ids over one pass through a history."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._repeats: Counter[str] = Counter()

    def sound(self, message: AIMessage) -> AIMessage:
        """The message with unique call ids, every call parsed and named, no blank text; itself if it is so already."""
        before = calls_of(message)
        after = [self._sound_call(call) for call in before]
        content = with_calls(sound_content(message.content), before, after)
        if after == message.tool_calls and content == message.content and not message.invalid_tool_calls:
            return message
        return message.model_copy(update={"tool_calls": after, "invalid_tool_calls": [], "content": content})

    def _sound_call(self, call: ToolCall) -> ToolCall:
        return {**call, "id": self._next(call["id"] or ""), "name": sound_name(call["name"])}

    def _next(self, call_id: str) -> str:
        fresh = call_id
        while not fresh or fresh in self._given:
            self._repeats[call_id] += 1
            # 29 characters: within OpenAI's limit of 40, in Anthropic's alphabet.
            fresh = f"call_{uuid5(NAMESPACE_OID, f'{call_id}:{self._repeats[call_id]}').hex[:24]}"
        self._given.add(fresh)
        return fresh
