"""The summary's five sections: read, judged, completed, cut to a size."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from longthread.tools.cut import cut_end
from longthread.tools.tokens import count_text

SECTIONS = ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
_NAMES = "|".join(SECTIONS)
_HEADING = re.compile(rf"^(?:#{{1,6}}[ \t]*)?\**({_NAMES})[ \t]*:?\**[ \t]*:?[ \t]*$", re.MULTILINE | re.IGNORECASE)
"""Weak models write other levels, bold names and colons."""
_OTHER_HEADING = re.compile(rf"^#{{1,2}}[ \t]+(?!\**(?:{_NAMES})[ \t:*]*$)", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a text as a summary; nothing is wrong when every field is empty."""

    blank: bool = False
    """No text, or none under any heading."""
    missing: tuple[str, ...] = ()
    tokens_over: int = 0

    @property
    def good(self) -> bool:
        """The text can be taken as it is."""
        return not (self.blank or self.missing or self.tokens_over)

    @property
    def mendable(self) -> bool:
        """The text can be taken once missing sections are added and long ones cut."""
        return not self.blank and len(self.missing) < len(SECTIONS)


def judge(text: str, limit: int) -> Verdict:
    """Whether the text is a summary of at most `limit` tokens with all five sections."""
    found = read_sections(text)
    if not text.strip() or (found and not any(found.values())):
        return Verdict(blank=True)
    missing = tuple(name for name in SECTIONS if name not in found)
    return Verdict(missing=missing, tokens_over=max(0, count_text(text) - limit))


def read_sections(text: str) -> dict[str, str]:
    """Section name → its body. Text before the first heading belongs to none."""
    canonical = {name.lower(): name for name in SECTIONS}
    marks = list(_HEADING.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    sections: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=False):
        name = canonical[mark.group(1).lower()]
        body = text[mark.end() : end].strip()
        sections[name] = f"{sections[name]}\n{body}".strip() if name in sections else body
    return sections


def render(sections: Mapping[str, str]) -> str:
    """All five sections in their order; one that is missing stands empty."""
    return "\n\n".join(f"## {name}\n{sections.get(name, '')}".rstrip() for name in SECTIONS)


def mend(text: str, limit: int) -> str:
    """The text with all five sections and within `limit` tokens, the longest sections cut first.

    Other headings of the sections' level go one down: none may pass for an appendix that no model writes.
    """
    text = _OTHER_HEADING.sub("### ", text.strip())
    if judge(text, limit).good:
        return text
    sections = read_sections(text)
    mended = render(sections)
    while (size := count_text(mended)) > limit and any(sections.values()):
        longest = max(sections, key=lambda name: count_text(sections[name]))
        tokens = count_text(sections[longest])
        sections[longest] = cut_end(sections[longest], max(0, min(tokens - (size - limit), tokens * 9 // 10)))
        mended = render(sections)
    return mended
