"""A summary that no model writes: what keeps a thread alive when the worker cannot do it."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage

from longthread.nodes.history.plain import plain
from longthread.nodes.history.speakers import is_users
from longthread.nodes.history.summary import mend, read_sections, render
from longthread.tools.cut import cut_middle
from longthread.tools.results import text_of
from longthread.tools.tokens import count_text

NEWEST_ANSWERS = 4
ANSWER_TOKENS = (200, 0.1)
"""At most, and at most this share of the whole."""
REQUEST_TOKENS = (300, 0.2)
SMALLEST = 30
NOTE = "(This summary was put together without a model, because the one that writes summaries did not answer.)"
LAST, EARLIER = "The user asked last:", "The user asked earlier:"
SEE_BELOW = "The user's own messages stand below, word for word."


def summary_without_model(previous: str, messages: Sequence[AnyMessage], limit: int) -> str:
    """Previous summary, the last request and the newest texts of the assistant, within `limit` local tokens.

    Directives, files, errors and todos follow in the appendices and the snapshot as always.
    """
    asked, said = _asked(messages, limit), _said(messages, limit)
    sections = _earlier(previous, asked, limit - count_text(f"{asked}\n{said}"))
    sections["Active Task"] = "\n".join(part for part in (asked, sections.get("Active Task", "")) if part)
    sections["User Directives"] = sections.get("User Directives") or SEE_BELOW
    sections["Current Work"] = said
    return mend(render(sections), limit)


def _asked(messages: Sequence[AnyMessage], limit: int) -> str:
    request = next((text_of(message) for message in reversed(messages) if is_users(message)), "")
    return f"{LAST}\n{_quoted(request, limit, *REQUEST_TOKENS)}" if request.strip() else ""


def _said(messages: Sequence[AnyMessage], limit: int) -> str:
    texts = [text_of(message).strip() for message in messages if isinstance(message, AIMessage)]
    newest = [_quoted(text, limit, *ANSWER_TOKENS) for text in texts if text][-NEWEST_ANSWERS:]
    return "\n\n".join([f"{NOTE}\nThe assistant said last:", *newest]) if newest else NOTE


def _earlier(previous: str, asked: str, room: int) -> dict[str, str]:
    """The sections of the summary before, within what the newer words leave."""
    sections = {**read_sections(previous), "Current Work": ""}
    task = sections.get("Active Task", "")
    sections["Active Task"] = task.replace(plain(asked), "").replace(LAST, EARLIER).strip() if asked else task
    return read_sections(mend(render(sections), room))


def _quoted(text: str, limit: int, most: int, share: float) -> str:
    """Shortened, and as a quotation, so that a heading in it is none of the summary's."""
    short = cut_middle(text.strip(), min(most, max(SMALLEST, int(limit * share))), "shortened")
    return "\n".join(f"> {line}" for line in short.splitlines())
