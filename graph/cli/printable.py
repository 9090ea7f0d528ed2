"""Text from models, tools and files, made fit for a terminal: it can move no cursor and change no title."""

import re
import unicodedata

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c)"  # OSC, DCS and the like, up to their end
    r"|\x1b[@-Z\\-_]",
    re.DOTALL,
)
_HIDDEN = {"Cc", "Cs"}
_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make text read in another order than it stands."""


def printable(text: str) -> str:
    """The text without control sequences and control characters; line breaks and tabs (as spaces) stay."""
    if text.isascii() and text.isprintable():
        return text
    flat = _SEQUENCES.sub("", text.replace("\r\n", "\n")).expandtabs(4)
    return "".join(character for character in flat if _shown(character))


def visible(text: str) -> str:
    """The text with every control character written out, for what a person is asked to approve."""
    return "".join(c if _shown(c) else c.encode("unicode_escape").decode() for c in text.replace("\t", "    "))


def _shown(character: str) -> bool:
    if character == "\n":
        return True
    return unicodedata.category(character) not in _HIDDEN and character not in _BIDI


def counted(number: int, thing: str) -> str:
    """A number of things: `1 file`, `2,000 files`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
