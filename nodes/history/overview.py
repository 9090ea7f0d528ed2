"""What the worker is shown of the messages it summarises: who said what, calls by name, results by summary."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from typing_extensions import TypedDict

from longthread.nodes.history.speakers import is_graphs_own, source_of
from longthread.tools.cut import cut_middle
from longthread.tools.results import calls_of, summary_of, text_of
from longthread.tools.text import escape, one_line
from longthread.tools.tokens import count_text

LONGEST_ENTRY = 1_200
SHORT_ENTRY = 60
NOTE = "shortened for this overview"
GAP = "[… {} left out …]"
GAP_TOKENS = 10
"""What a gap costs, by any count."""


class Entry(TypedDict):
    """One message in the overview."""

    speaker: Literal["user", "assistant", "result", "system"]
    text: str


def overview_entries(messages: Sequence[AnyMessage]) -> list[Entry]:
    """Entries for messages of the conversation; what the graph itself added is left out."""
    return [entry for message in messages if (entry := _entry(message))]


def _entry(message: AnyMessage) -> Entry | None:
    if is_graphs_own(message):
        return None
    if isinstance(message, ToolMessage):
        failed = "failed: " if message.status == "error" else ""
        return Entry(speaker="result", text=f"{message.name or 'tool'} {failed}{one_line(summary_of(message), 600)}")
    if source_of(message):
        return Entry(speaker="result", text=one_line(text_of(message), 600))
    text = cut_middle(text_of(message).strip(), LONGEST_ENTRY, NOTE)
    if isinstance(message, AIMessage):
        names = ", ".join(call["name"] for call in calls_of(message))
        text = "\n".join(part for part in (text, f"(calls {names})" if names else "") if part)
        return Entry(speaker="assistant", text=text) if text else None
    return Entry(speaker="user" if isinstance(message, HumanMessage) else "system", text=text) if text else None


def render_entry(entry: Entry) -> str:
    """The entry as quoted data: escaped, so that it cannot close its tag."""
    return f"<{entry['speaker']}>{escape(entry['text'])}</{entry['speaker']}>"


def render_overview(entries: Sequence[Entry], tokens: int) -> str:
    """The entries within `tokens` tokens: the middle is thinned out first, the user's words last."""
    shown: list[str | None] = [render_entry(entry) for entry in entries]
    sizes = [_size(text) for text in shown]
    total = sum(sizes)
    for index, smaller in _degradations(entries):
        if total <= tokens:
            break
        shown[index] = smaller(entries[index])
        size = _size(shown[index])
        total += size - sizes[index] + (_new_gaps(shown, index) * GAP_TOKENS if shown[index] is None else 0)
        sizes[index] = size
    return "\n".join(_with_gaps(shown))


def _size(text: str | None) -> int:
    """With the line break; what is left out is counted by its gap."""
    return 0 if text is None else count_text(text) + 1


def _new_gaps(shown: Sequence[str | None], index: int) -> int:
    """How many gaps more there are since this entry is left out: it may widen one, or join two."""
    before, after = index > 0 and shown[index - 1] is None, index + 1 < len(shown) and shown[index + 1] is None
    return 1 - before - after


def _degradations(entries: Sequence[Entry]) -> Iterator[tuple[int, Callable[[Entry], str | None]]]:
    """What is made smaller, one after the other: results, then the assistant's words, then the user's."""
    middle = (len(entries) - 1) / 2
    outward = sorted(range(len(entries)), key=lambda n: (abs(n - middle), n))
    for speakers, smaller in (
        (("result",), _nothing),
        (("assistant", "system"), _short),
        (("assistant", "system"), _nothing),
        (("user",), _short),
        (("user",), _nothing),
    ):
        yield from ((n, smaller) for n in outward if entries[n]["speaker"] in speakers)


def _short(entry: Entry) -> str | None:
    return render_entry({**entry, "text": cut_middle(entry["text"], SHORT_ENTRY, NOTE)})


def _nothing(_entry: Entry) -> str | None:
    return None


def _with_gaps(shown: Sequence[str | None]) -> Iterator[str]:
    gap = 0
    for text in [*shown, ""]:
        if text is None:
            gap += 1
            continue
        if gap:
            yield GAP.format(gap)
            gap = 0
        if text:
            yield text
