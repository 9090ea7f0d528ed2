"""A summary that no model writes: what keeps a thread alive when the worker cannot do it."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage

from longthread.nodes.history.speakers import is_users
from longthread.nodes.history.summary import mend, read_sections, render
from longthread.tools.cut import cut_middle
from longthread.tools.results import text_of

NEWEST_ANSWERS = 4
ANSWER_TOKENS = 200
REQUEST_TOKENS = 300
NOTE = "(This summary was put together without a model, because the one that writes summaries did not answer.)"
LAST, EARLIER = "The user asked last:", "The user asked earlier:"
SEE_BELOW = "The user's own messages stand below, word for word."


def summary_without_model(previous: str, messages: Sequence[AnyMessage], limit: int) -> str:
    """Previous summary, the last request and the newest texts of the assistant, within `limit` local tokens.

    Directives, files, errors and todos follow in the appendices and the snapshot as always.
    """
    sections = read_sections(previous)
    request = next((text_of(m) for m in reversed(messages) if is_users(m)), "")
    texts = [text_of(m).strip() for m in messages if isinstance(m, AIMessage)]
    newest = [cut_middle(text, ANSWER_TOKENS, "shortened") for text in texts if text][-NEWEST_ANSWERS:]
    if request:
        # The newest first: a section that is too long loses its end.
        asked = f"{LAST}\n{_quoted(cut_middle(request, REQUEST_TOKENS, 'shortened'))}"
        before = sections.get("Active Task", "").replace(asked, "").strip()
        sections["Active Task"] = "\n".join(part for part in (asked, before.replace(LAST, EARLIER)) if part)
    sections["User Directives"] = sections.get("User Directives") or SEE_BELOW
    said = "\n\n".join(map(_quoted, newest))
    sections["Current Work"] = f"{NOTE}\nThe assistant said last:\n{said}" if said else NOTE
    return mend(render(sections), limit)


def _quoted(text: str) -> str:
    """As a quotation, so that a heading in it is none of the summary's."""
    return "\n".join(f"> {line}" for line in text.splitlines())
