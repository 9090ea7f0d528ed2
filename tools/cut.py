"""A text that is too long is cut to a number of tokens, with a note where it was cut."""

from collections.abc import Callable

from longthread.tools.tokens import count_text

CHARACTERS_PER_TOKEN = 20
"""No text that is worth reading has more characters per token; what has is cut by characters first."""


def cut_middle(text: str, tokens: int, note: str) -> str:
    """The text within about `tokens` tokens: two thirds head, one third tail, `note` where it was cut."""

    def halves(kept: int) -> str:
        tail = kept // 3
        return (
            f"{text[: kept - tail]}\n[… {len(text) - kept} characters left out; {note} …]\n{text[len(text) - tail :]}"
        )

    return _largest(text, tokens, halves)


def cut_end(text: str, tokens: int) -> str:
    """The text's beginning within about `tokens` tokens; nothing at all for none."""
    return _largest(text, tokens, lambda kept: f"{text[:kept].rstrip()} …" if kept else "")


def _largest(text: str, tokens: int, shorten: Callable[[int], str]) -> str:
    kept = min(len(text), max(0, tokens) * CHARACTERS_PER_TOKEN)
    shown = text if kept == len(text) else shorten(kept)
    while kept and (size := count_text(shown)) > tokens:
        kept = max(0, min(kept - 1, kept * tokens * 95 // (size * 100)))
        shown = shorten(kept)
    return shown
