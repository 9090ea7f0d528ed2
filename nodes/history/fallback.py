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
        asked = f"The user asked: {cut_middle(request, REQUEST_TOKENS, 'shortened')}"
        sections["Active Task"] = "\n".join(part for part in (sections.get("Active Task", ""), asked) if part)
    sections["User Directives"] = sections.get("User Directives") or SEE_BELOW
    said = "\n".join(f"- {text}" for text in newest)
    sections["Current Work"] = f"{NOTE}\nThe assistant said last:\n{said}" if said else NOTE
    return mend(render(sections), limit)
