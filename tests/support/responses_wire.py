"""OpenAI's Responses API as its servers hold it."""

import json
from collections.abc import Iterator

from house_server import Body, Refused, Said

CODES = {429: "rate_limit_exceeded", 400: "invalid_request_error"}
CONTENTS = {"input_text", "input_image", "input_file", "output_text", "refusal"}


class ResponsesHouse:
    """Takes an output for each call and a call for each output, reasoning items before what they led to."""

    def fault(self, path: str, body: Body) -> str | None:
        if path != "/v1/responses":
            return f"Invalid URL (POST {path})"
        return _roles(body["input"]) or _pairing(body["input"]) or _reasoning(body["input"])

    def refusal(self, refused: Refused) -> Body:
        kind = refused.kind or CODES.get(refused.status, "server_error")
        return {"error": {"message": refused.message, "type": kind, "code": kind, "param": "input"}}

    def failure(self, refused: Refused) -> Body:
        error = {"code": refused.kind or CODES.get(refused.status, "server_error"), "message": refused.message}
        failed = {
            "id": "resp_0",
            "object": "response",
            "created_at": 0,
            "status": "failed",
            "error": error,
            "output": [],
        }
        return {"type": "response.failed", "response": {**failed, "model": "gpt", "tools": []}, "sequence_number": 0}

    def streams(self, path: str, body: Body) -> bool:
        return bool(body.get("stream"))

    def whole(self, said: Said, number: int, body: Body) -> Body:
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1_750_000_000,
            "status": "completed",
            "model": body["model"],
            "output": _output(said, number),
            "usage": _usage(said),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
        }

    def events(self, said: Said, number: int, body: Body) -> Iterator[Body]:
        response = self.whole(said, number, body)
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "response": begun, "sequence_number": 0}
        for at, item in enumerate(response["output"]):
            for event in _item_events(item):
                yield {"output_index": at, "item_id": item["id"], "sequence_number": 0, **event}
        yield {"type": "response.completed", "response": response, "sequence_number": 0}


def _output(said: Said, number: int) -> list[Body]:
    text = [{"type": "output_text", "text": said.text, "annotations": []}]
    thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": said.thinking}]}
    message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": text}
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{number}_{n}",
            "call_id": f"call_{number}_{n}",
            "name": name,
            "arguments": json.dumps(args),
            "status": "completed",
        }
        for n, (name, args) in enumerate(said.calls)
    ]
    return [*([thought] if said.thinking else []), *([message] if said.text else []), *calls]


def _usage(said: Said) -> Body:
    spent = said.spent
    return {
        "input_tokens": spent.whole_input,
        "input_tokens_details": {"cached_tokens": spent.read},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": spent.reasoning},
        "total_tokens": spent.whole_input + spent.output,
    }


def _item_events(item: Body) -> Iterator[Body]:
    if item["type"] == "message":
        part = item["content"][0]
        yield {"type": "response.output_item.added", "item": {**item, "content": [], "status": "in_progress"}}
        yield {"type": "response.content_part.added", "content_index": 0, "part": {**part, "text": ""}}
        yield {"type": "response.output_text.delta", "content_index": 0, "delta": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", "content_index": 0, "part": part}
    elif item["type"] == "function_call":
        yield {"type": "response.output_item.added", "item": {**item, "arguments": "", "status": "in_progress"}}
        yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
    else:
        [part] = item["summary"]
        yield {"type": "response.output_item.added", "item": {**item, "summary": []}}
        blank = {**part, "text": ""}
        yield {"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": blank}
        yield {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", "summary_index": 0, "part": part}
    yield {"type": "response.output_item.done", "item": item}


def _roles(items: list[Body]) -> str | None:
    for n, item in enumerate(items):
        if item.get("type", "message") != "message":
            continue
        if item["role"] not in ("user", "assistant", "system", "developer"):
            return f"Invalid value: {item['role']!r}. (input[{n}])"
        blocks = item["content"] if isinstance(item["content"], list) else []
        if wrong := next((b["type"] for b in blocks if b["type"] not in CONTENTS), None):
            return f"Invalid value: {wrong!r}. Supported values are: 'input_text', 'input_image', … (input[{n}])"
    return None


def _pairing(items: list[Body]) -> str | None:
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    if missing := [call for call in calls if call not in outputs]:
        return f"No tool output found for function call {missing[0]}."
    if orphans := [output for output in outputs if output not in calls]:
        return f"No tool call found for function call output with call_id {orphans[0]}."
    repeated = len(set(calls)) < len(calls) or len(set(outputs)) < len(outputs)
    return "Duplicate call_id" if repeated else None


def _reasoning(items: list[Body]) -> str | None:
    for n, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        following = items[n + 1] if n + 1 < len(items) else {}
        led_to = following.get("type") in ("function_call", "reasoning") or following.get("role") == "assistant"
        if not led_to:
            return f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
    return None
