"""The local count of tokens: o200k_base where its vocabulary is at hand, else an approximation.

Neither needs a network. Which of them counts is decided by tiktoken's cache folder alone
(`TIKTOKEN_CACHE_DIR`, `DATA_GYM_CACHE_DIR`, else `data-gym-cache` in the folder for temporary
files): a folder without the vocabulary means the approximation. Every text is counted once.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar
from weakref import ReferenceType, ref

from langchain_core.messages import BaseMessage, ToolCall

from longthread.tools.approximate import approximate_tokens
from longthread.tools.results import CALLS, IMAGES, calls_of
from longthread.tools.text import as_text
from longthread.tools.vocabulary import o200k

IMAGE_TOKENS = 1_100
"""One image, sound or file inside a message, whatever its size: what a screenshot of 1 000 × 800 pixels costs."""
MESSAGE_TOKENS = 4
"""A message beside its content; also a tool call beside its name and arguments."""
SCHEMA_TOKENS = 8
"""A tool's schema beside its JSON."""

_MEDIA = IMAGES | {"audio", "input_audio", "video", "file", "input_file", "media"}
_BYTES = frozenset({"data", "base64", "file_data", "signature", "encrypted_content"})
_CHUNK = 100_000
"""Characters that a tokenizer is given at once; bounds the time that a pathological text takes."""
_CHUNKS_AT_MOST = 10
_REMEMBERED = 20_000
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Weighed(NamedTuple):
    message: ReferenceType[BaseMessage]
    content: int
    calls: int
    tokens: int


# Keyed by hash and identity, so that what is remembered keeps no text and no message alive.
_texts: OrderedDict[tuple[str, int, int], int] = OrderedDict()
_messages: OrderedDict[tuple[str, int], _Weighed] = OrderedDict()


def local_counter_name() -> Literal["o200k_base", "approximate"]:
    """Which of the two counts here."""
    return "o200k_base" if o200k() else "approximate"


def count_text(text: str) -> int:
    """Tokens of a text; names of special tokens in it are ordinary text.

    Above a million characters, ten stretches of it are counted and scaled.
    """
    key = (local_counter_name(), hash(text), len(text))
    known = _texts.get(key)
    return _remember(_texts, key, _count(text)) if known is None else known


def count_message(message: BaseMessage) -> int:
    """Tokens of a message: text, calls (those that could not be parsed too), images by `IMAGE_TOKENS`.

    Reasoning counts by its text, other blocks by their JSON without data and signatures.
    """
    return count_messages([message])[0]


def count_messages(messages: Sequence[BaseMessage]) -> list[int]:
    """As `count_message`, for each of many; nearly free for those that were counted before."""
    counter = local_counter_name()
    return [_known(counter, message) for message in messages]


def count_schemas(tools: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of tool schemas, given as the dicts that a provider is sent."""
    return sum(SCHEMA_TOKENS + count_text(_json(tool)) for tool in tools)


def _known(counter: str, message: BaseMessage) -> int:
    key = (counter, id(message))
    content, calls = id(message.content), id(getattr(message, "tool_calls", None))
    known = _messages.get(key)
    if known and known.message() is message and known.content == content and known.calls == calls:
        return known.tokens
    return _remember(_messages, key, _Weighed(ref(message), content, calls, _weigh(message))).tokens


def _remember(memory: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> _Value:
    memory[key] = value
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)
    return value


def _count(text: str) -> int:
    encoding = o200k()
    chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    chosen = chunks[:: max(1, -(-len(chunks) // _CHUNKS_AT_MOST))]
    counted = sum(len(encoding.encode_ordinary(c)) if encoding else approximate_tokens(c) for c in chosen)
    return counted if len(chosen) == len(chunks) else counted * len(text) // sum(map(len, chosen))


def _weigh(message: BaseMessage) -> int:
    calls = calls_of(message)
    return MESSAGE_TOKENS + _count_content(message.content, bool(calls)) + sum(map(_count_call, calls))


def _count_call(call: ToolCall) -> int:
    return MESSAGE_TOKENS + count_text(call["name"] + _json(call["args"]))


def _count_content(content: str | list[Any], has_calls: bool) -> int:
    if isinstance(content, str):
        return count_text(content)
    # Some providers write a call both as a block and as a call.
    return sum(_count_block(b) for b in content if not (has_calls and isinstance(b, dict) and b.get("type") in CALLS))


def _count_block(block: Any) -> int:
    if isinstance(block, str):
        return count_text(block)
    if isinstance(block, Mapping):
        if isinstance(block.get("text"), str):
            return count_text(block["text"])
        if block.get("type") in _MEDIA:
            return IMAGE_TOKENS
    return count_text(_json(block))


def _json(value: Any) -> str:
    try:
        return json.dumps(_without_bytes(value), ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return as_text(value)


def _without_bytes(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_bytes(item) for key, item in value.items() if key not in _BYTES}
    if isinstance(value, list | tuple):
        return [_without_bytes(item) for item in value]
    return "" if isinstance(value, str) and value.startswith("data:") else value
