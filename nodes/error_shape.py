"""What an error shows of itself, whichever package raised it: status, codes, text, class names."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

READ_AT_MOST: Final = 4_000
"""Characters of a text that are read; some servers echo the whole request behind their message."""


@dataclass(frozen=True)
class Shape:
    """An error as far as its attributes tell."""

    status: int | None
    """HTTP status, from the error, its response or its body."""
    codes: str
    """Its code and type fields and the name of its class."""
    text: str
    """Its message and its body."""
    classes: frozenset[str]
    """Names of its class and of every base."""


def shape_of(error: BaseException) -> Shape:
    """The shape of one error; never raises, whatever its attributes are."""
    body = _body(error)
    parts = _parts(body)
    fields = [_read(error, name) for name in ("code", "type", "status")]
    fields += [part.get(name) for part in parts for name in ("code", "type", "status", "Code")]
    codes = [str(field) for field in fields if isinstance(field, str | int)]
    return Shape(
        status=_status(error, parts),
        codes=" ".join([*codes, type(error).__name__]),
        text=f"{_text(error)} {_dumped(body)}",
        classes=frozenset(kind.__name__ for kind in type(error).__mro__),
    )


def _body(error: BaseException) -> Any:
    """The body: of OpenAI and Anthropic, of botocore, of google-genai, of LangChain's `ValueError({...})`, of httpx."""
    response = _read(error, "response")
    candidates = (_read(error, "body"), response, _read(error, "details"), *error.args[:1])
    mapping = next((found for found in candidates if isinstance(found, Mapping)), None)
    return mapping if mapping is not None else _read(error, "body") or _read(response, "text")


def _parts(body: Any) -> list[Mapping[str, Any]]:
    """The body and the error objects inside it."""
    if not isinstance(body, Mapping):
        return []
    inner = [body.get("error"), body.get("Error")]
    return [body, *(found for found in inner if isinstance(found, Mapping))]


def _status(error: BaseException, parts: Iterable[Mapping[str, Any]]) -> int | None:
    found = [_read(error, name) for name in ("status_code", "http_status")]
    found += [_read(_read(error, "response"), "status_code"), _read(error, "code"), _read(error, "status")]
    for part in parts:
        metadata = part.get("ResponseMetadata")
        found += [metadata.get("HTTPStatusCode")] if isinstance(metadata, Mapping) else []
        found += [part.get(name) for name in ("code", "status", "status_code")]
    return next((status for status in map(_as_status, found) if status), None)


def _as_status(value: Any) -> int | None:
    """A status of refusal, also where it is written as text; `None` for every other value."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:4])
    return int(value) if isinstance(value, int) and 400 <= value <= 599 else None


def _read(source: Any, name: str) -> Any:
    """An attribute, or `None`: some are properties that raise, as that of a response not yet read."""
    with contextlib.suppress(Exception):
        return getattr(source, name, None)
    return None


def _text(error: BaseException) -> str:
    with contextlib.suppress(Exception):
        return str(error)[:READ_AT_MOST]
    return ""


def _dumped(body: Any) -> str:
    if body is None or isinstance(body, str):
        return (body or "")[:READ_AT_MOST]
    with contextlib.suppress(Exception):
        return json.dumps(body, default=str, ensure_ascii=False)[:READ_AT_MOST]
    return ""


def links(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, the outermost first."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__
