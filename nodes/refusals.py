"""What a provider's error means: the context is too long, worth another try, or neither.

Errors are read by their shape (status, code, type, text, class name), never by importing a
provider's package, and along `__cause__`, since LangChain and proxies wrap them; the outermost
error that says something decides.

A rate limit is never an overflow, whatever its text says: providers word limits per minute as
"request too large" and "too many tokens". An overflow is never worth another try.
"""

import re
from typing import Final, Literal

from langchain_core.exceptions import ContextOverflowError, ModelError
from langgraph.types import RetryPolicy
from pydantic import ValidationError

from longthread.nodes.error_shape import Shape, links, shape_of
from longthread.nodes.overflow_texts import OVERFLOW_CODES, OVERFLOW_TEXTS
from longthread.tools.errors import LongthreadError

_RATE_CODES: Final = re.compile(r"rate.?limit|throttl|too.?many.?requests|resource.?exhausted", re.IGNORECASE)
_RATE_TEXTS: Final = re.compile(
    r"rate.?limit|throttl|too many requests|resource.?exhausted|\bTPM\b|(tokens|requests) per (min|hour|day)"
    r"|please wait before|(try again|retry) (in|after) \d",
    re.IGNORECASE,
)
_NO_QUOTA_CODES: Final = re.compile(r"insufficient_quota|billing", re.IGNORECASE)
_SERVER_CODES: Final = re.compile(
    r"overloaded|server_?error|internal_?error|unavailable|api_error|timeout|deadline.?exceeded", re.IGNORECASE
)
_BROKEN_TEXTS: Final = re.compile(
    r"overloaded|incomplete chunked read|peer closed connection|server disconnected"
    r"|connection (reset|aborted|error|closed)|server had an error"
    r"|no generation chunks were returned|no generations found in stream",
    re.IGNORECASE,
)
_CONNECTION_CLASSES: Final = {
    *("ConnectionError", "TimeoutError", "APIConnectionError"),  # built in, OpenAI and Anthropic
    *("TransportError", "Timeout", "ChunkedEncodingError", "ProtocolError"),  # httpx, requests, urllib3
    *("IncompleteRead", "ClientConnectionError", "ClientPayloadError", "HTTPClientError"),  # aiohttp, botocore
    "JSONDecodeError",  # an event of a stream that was cut in its middle
}
_HOPELESS_CLASSES: Final = {"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "SSLCertVerificationError"}
"""What connection errors can be caused by and no second try mends."""
_OTHER_REASONS: Final = {401, 402, 403, 404, 405, 408, 409, 429}
"""Statuses that speak of something else than size. 5xx is not among them: llama.cpp and proxies send overflows so."""
_RETRYABLE: Final = {408, 409, 425, 429}
_NOT_OFFERED: Final = {501, 505}

_Verdict = Literal["overflow", "transient", "final"]


def is_context_overflow(error: BaseException) -> bool:
    """Whether the provider refused the request because its context is too long.

    True for `ContextOverflowError`, for status 413, and for an error of status 400, 422, 5xx or
    none (it came inside a stream) whose code, type or text says so. False for every rate limit.
    """
    return _verdict(error) == "overflow"


def is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed a little later.

    True for connections that fail or break, time limits, status 408, 409, 425, 429, 5xx, and
    streams cut in their middle, calls whose arguments LangChain cannot take; false for used-up
    quota, refused keys, bad requests, overflows.
    """
    return _verdict(error) == "transient"


def retry_policy(*, max_attempts: int = 4, initial_interval: float = 0.5) -> RetryPolicy:
    """The policy for a node that calls a model: transient errors, after about 0.5, 1.5 and 4.5 seconds.

    The one place that retries: the clients that `resolve_model` makes do not (`max_retries=0`).
    """
    return RetryPolicy(
        initial_interval=initial_interval,
        backoff_factor=3.0,
        max_interval=30.0,
        max_attempts=max_attempts,
        jitter=True,
        retry_on=is_transient,
    )


def _verdict(error: BaseException) -> _Verdict:
    chain = [(link, shape_of(link)) for link in links(error)]
    if any(shape.classes & _HOPELESS_CLASSES for _, shape in chain):
        return "final"
    said = (_said_by(link, shape) for link, shape in chain)
    return next((verdict for verdict in said if verdict), "final")


def _said_by(error: BaseException, shape: Shape) -> _Verdict | None:
    """The verdict of one error of the chain; `None` where it leaves it to its cause."""
    if isinstance(error, LongthreadError) or _NO_QUOTA_CODES.search(shape.codes):
        return "final"
    if isinstance(error, ContextOverflowError) or _is_overflow(shape):
        return "overflow"
    if _is_temporary(shape) or _is_unreadable(error) or (isinstance(error, ModelError) and error.is_retryable):
        return "transient"
    return "final" if shape.status or isinstance(error, ModelError) else None


def _is_unreadable(error: BaseException) -> bool:
    """An answer that LangChain made no message of: a call's arguments are JSON, but no object. Another one may do."""
    if not isinstance(error, ValidationError) or error.title != "AIMessage":
        return False
    return all(found["loc"][:1] == ("tool_calls",) for found in error.errors(include_url=False, include_input=False))


def _is_overflow(shape: Shape) -> bool:
    if shape.status in _OTHER_REASONS or _is_rate_limit(shape):
        return False
    return shape.status == 413 or bool(OVERFLOW_CODES.search(shape.codes) or OVERFLOW_TEXTS.search(shape.text))


def _is_rate_limit(shape: Shape) -> bool:
    return shape.status == 429 or bool(_RATE_CODES.search(shape.codes) or _RATE_TEXTS.search(shape.text))


def _is_temporary(shape: Shape) -> bool:
    if shape.status in (401, 402, 403):
        return False
    if _is_rate_limit(shape):
        return True
    if shape.status:
        return shape.status in _RETRYABLE or (shape.status >= 500 and shape.status not in _NOT_OFFERED)
    if shape.classes & _CONNECTION_CLASSES:
        return True
    return bool(_SERVER_CODES.search(shape.codes) or _BROKEN_TEXTS.search(shape.text))
