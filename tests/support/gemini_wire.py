"""Google's generateContent API as its servers hold it."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from house_server import Body, Refused, Said

STATUSES = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


class GeminiHouse:
    """Takes system text beside the contents only, a user first, and as many responses as calls right after them."""

    def fault(self, path: str, body: Body) -> str | None:
        if ":generateContent" not in path and ":streamGenerateContent" not in path:
            return f"Not found: {path}"
        contents = body["contents"]
        if not contents or contents[0]["role"] != "user":
            return "Please ensure that the first content has role user."
        if wrong := next((c["role"] for c in contents if c["role"] not in ("user", "model")), None):
            return f"Please use a valid role: user, model. Got {wrong}."
        if any(not content.get("parts") for content in contents):
            return "Unable to submit request because it must have at least one part."
        parts = [part for content in contents for part in content["parts"]]
        if any(set(part) <= {"text", "thought"} and not part.get("text") for part in parts):
            return "Unable to submit request because it has an empty text parameter."
        return _pairing(contents)

    def refusal(self, refused: Refused) -> Body:
        status = refused.kind or STATUSES.get(refused.status, "INTERNAL")
        return {"error": {"code": refused.status, "message": refused.message, "status": status}}

    def failure(self, refused: Refused) -> Body:
        return self.refusal(refused)

    def streams(self, path: str, body: Body) -> bool:
        return ":streamGenerateContent" in path

    def whole(self, said: Said, number: int, body: Body) -> Body:
        return self._chunk(_parts(said, number), number, said, "STOP")

    def events(self, said: Said, number: int, body: Body) -> Iterator[Body]:
        for part in _parts(said, number):
            yield self._chunk([part], number, said, None)
        yield self._chunk([{"text": ""}], number, said, "STOP")

    def _chunk(self, parts: list[Body], number: int, said: Said, reason: str | None) -> Body:
        ended = {"finishReason": reason} if reason else {}
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **ended}
        named = {"modelVersion": "gemini-2.5-flash", "responseId": f"resp-{number}"}
        return {"candidates": [candidate], "usageMetadata": _usage(said), **named}


def _parts(said: Said, number: int) -> list[Body]:
    thought: list[Body] = [{"text": said.thinking, "thought": True}] if said.thinking else []
    text: list[Body] = [{"text": said.text}] if said.text else []
    calls: list[Body] = [{"functionCall": {"name": name, "args": args}} for name, args in said.calls]
    if calls and said.thinking:
        calls[0]["thoughtSignature"] = f"c2lnbmVk{number:04d}"
    return [*thought, *text, *calls]


def _usage(said: Said) -> Body:
    spent = said.spent
    answered = spent.output - spent.reasoning
    counts = {"promptTokenCount": spent.whole_input, "candidatesTokenCount": answered}
    optional = {"thoughtsTokenCount": spent.reasoning, "cachedContentTokenCount": spent.read}
    total = spent.whole_input + spent.output
    return {**counts, **{key: n for key, n in optional.items() if n}, "totalTokenCount": total}


def _of(content: Body, kind: str) -> list[Any]:
    return [part[kind] for part in content["parts"] if kind in part]


def _pairing(contents: list[Body]) -> str | None:
    for content, following in pairwise([*contents, {"role": "user", "parts": []}]):
        calls, responses = _of(content, "functionCall"), _of(following, "functionResponse")
        if [call["name"] for call in calls] != [response["name"] for response in responses]:
            return (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        if responses and len(responses) < len(following["parts"]) and following["role"] == "model":
            return "Please ensure that function response turn comes immediately after a function call turn."
    return None
