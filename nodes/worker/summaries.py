"""How the worker's summary is taken: judged, sent back once for what is wrong, then mended."""

from collections.abc import Callable

from longthread.nodes.history.summary import SECTIONS, Verdict, judge, mend
from longthread.tools.tokens import count_text
from longthread.tools.worker import Desk

HEADINGS = ", ".join(f"'## {name}'" for name in SECTIONS)
NO_SUMMARY = (
    "Error: this is no summary; nothing was saved. Write it again with text under these five headings, each on a line "
    "of its own:"
)


def make_review(limit: int) -> Callable[[str, Desk], tuple[str, Desk]]:
    """The judge of `write_summary` for summaries of at most `limit` local tokens."""

    def review(text: str, desk: Desk) -> tuple[str, Desk]:
        verdict = judge(text, limit)
        if not verdict.mendable:
            return f"{NO_SUMMARY} {HEADINGS}.", desk
        complaint, kind = _complaint(verdict, limit)
        if kind and kind not in desk["asked"]:
            return complaint, {**desk, "draft": text, "asked": [*desk["asked"], kind]}
        summary = mend(text, limit)
        return f"Summary saved ({count_text(summary)} tokens).", {**desk, "summary": summary, "draft": ""}

    return review


def _complaint(verdict: Verdict, limit: int) -> tuple[str, str]:
    if verdict.missing:
        names = ", ".join(f"'## {name}'" for name in verdict.missing)
        return f"Error: the summary lacks {names}. Call write_summary again with all five sections.", "sections"
    if verdict.tokens_over:
        over = f"{verdict.tokens_over} tokens over its limit of {limit}"
        return f"Error: the summary is {over}. Call write_summary again, shorter.", "length"
    return "", ""


def final_summary(desk: Desk, limit: int) -> str:
    """The last valid summary, else the last draft, mended; else nothing."""
    text = desk["summary"] or desk["draft"]
    return mend(text, limit) if text else ""
