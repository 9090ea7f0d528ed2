"""Anthropic's Messages API as its servers hold it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from house_server import Body, Refused, Said

ID = re.compile(r"[a-zA-Z0-9_-]+")
MARKS = 4
"""Blocks with `cache_control` in one request, the one at the top level among them."""
KINDS = {400: "invalid_request_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}


class AnthropicHouse:
    """Takes system text beside the messages only, tool results right after their calls, no blank text, four marks."""

    def fault(self, path: str, body: Body) -> str | None:
        if path != "/v1/messages":
            return f"Not found: {path}"
        messages = body["messages"]
        if not messages or messages[0]["role"] != "user":
            return 'messages: first message must use the "user" role'
        if wrong := next((m["role"] for m in messages if m["role"] not in ("user", "assistant")), None):
            return f'messages: Unexpected role "{wrong}". The Messages API accepts a top-level `system` parameter.'
        if len(marked(body)) > MARKS:
            return f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked(body))}."
        blank = any(block.get("type") == "text" and not block["text"].strip() for block in every_block(body))
        return "text content blocks must be non-empty" if blank else _pairing(messages) or _thinking(messages)

    def refusal(self, refused: Refused) -> Body:
        kind = refused.kind or KINDS.get(refused.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": refused.message}, "request_id": "req_1"}

    def failure(self, refused: Refused) -> Body:
        return self.refusal(refused)

    def streams(self, path: str, body: Body) -> bool:
        return bool(body.get("stream"))

    def whole(self, said: Said, number: int, body: Body) -> Body:
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": _content(said, number),
            "stop_reason": "tool_use" if said.calls else "end_turn",
            "stop_sequence": None,
            "usage": _usage(said),
        }

    def events(self, said: Said, number: int, body: Body) -> Iterator[Body]:
        message = self.whole(said, number, body)
        yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        for index, block in enumerate(message["content"]):
            start, deltas = _in_pieces(block)
            yield {"type": "content_block_start", "index": index, "content_block": start}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
        yield {"type": "message_stop"}


def _content(said: Said, number: int) -> list[Body]:
    thinking = (
        [{"type": "thinking", "thinking": said.thinking, "signature": f"signed{number}"}] if said.thinking else []
    )
    text = [{"type": "text", "text": said.text}] if said.text else []
    calls = [
        {"type": "tool_use", "id": f"toolu_{number}_{n}", "name": name, "input": args}
        for n, (name, args) in enumerate(said.calls)
    ]
    return [*thinking, *text, *calls]


def _usage(said: Said) -> Body:
    spent = said.spent
    details = {"output_tokens_details": {"thinking_tokens": spent.reasoning}} if spent.reasoning else {}
    return {
        "input_tokens": spent.fresh,
        "cache_read_input_tokens": spent.read,
        "cache_creation_input_tokens": spent.written,
        "cache_creation": {"ephemeral_5m_input_tokens": spent.written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": spent.output,
        **details,
    }


def _in_pieces(block: Body) -> tuple[Body, list[Body]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "tool_use":
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    signed = {"type": "signature_delta", "signature": block["signature"]}
    return {**block, "thinking": "", "signature": ""}, [
        {"type": "thinking_delta", "thinking": block["thinking"]},
        signed,
    ]


def every_block(body: Body) -> Iterator[Body]:
    """Every content block of a request, of system and messages; text that is a plain string as a block of its own."""
    for content in (body.get("system") or [], *(message["content"] for message in body["messages"])):
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


def marked(body: Body) -> list[Body]:
    """Everything of a request that carries `cache_control`: tools, blocks, the request itself."""
    return [part for part in (*body.get("tools", []), *every_block(body), body) if "cache_control" in part]


def _blocks(message: Body, kind: str) -> list[Body]:
    return [block for block in message["content"] if isinstance(block, dict) and block["type"] == kind]


def _pairing(messages: list[Body]) -> str | None:
    used: set[str] = set()
    for message, following in zip(messages, [*messages[1:], {"role": "none", "content": []}], strict=True):
        calls = [block["id"] for block in _blocks(message, "tool_use")]
        if used & set(calls) or len(set(calls)) < len(calls) or not all(map(ID.fullmatch, calls)):
            return "messages: `tool_use` ids must be unique"
        used.update(calls)
        results = [block["tool_use_id"] for block in _blocks(following, "tool_result")]
        first = [block["type"] for block in following["content"] if isinstance(block, dict)][: len(calls)]
        if message["role"] == "assistant" and (sorted(results) != sorted(calls) or set(first) > {"tool_result"}):
            return f"messages: `tool_use` ids were found without `tool_result` blocks immediately after: {calls}"
    return None


def _thinking(messages: list[Body]) -> str | None:
    thought: list[Any] = [block for message in messages for block in _blocks(message, "thinking")]
    if any(not block.get("signature") for block in thought):
        return "messages: thinking.signature: Field required"
    late = [m for m in messages if _blocks(m, "thinking") and m["content"][0]["type"] != "thinking"]
    return "messages: Expected `thinking` as the first block" if late else None
