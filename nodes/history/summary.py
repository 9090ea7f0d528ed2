"""The summary's five sections: read, judged, completed, cut to a size."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from longthread.nodes.history.headings import SECTIONS, from_json, heading_of
from longthread.nodes.history.plain import plain, unfenced
from longthread.tools.cut import cut_end
from longthread.tools.tokens import count_text

__all__ = ["SECTIONS", "Verdict", "judge", "mend", "read_sections", "render"]

_CUT_MARKS = re.compile(r"(?<![^\s\u200b-\u200f\u2060\ufeff])#{1,2} …\Z")
"""A heading's marks, cut: of another level than it was."""


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
    """Whether the text is a summary with all five sections, of at most `limit` tokens once it is rendered."""
    found = read_sections(text)
    if not text.strip() or (found and not any(found.values())):
        return Verdict(blank=True)
    missing = tuple(name for name in SECTIONS if name not in found)
    return Verdict(missing=missing, tokens_over=max(0, count_text(render(found)) - limit))


def read_sections(text: str) -> dict[str, str]:
    """Section name → its body, made plain. Text before the first heading belongs to none."""
    bodies: dict[str, list[str]] = {}
    body: list[str] = []
    for line in plain(from_json(unfenced(text))).splitlines():
        rest = line
        while heading := heading_of(rest) or heading_of(rest := plain(rest)):
            name, rest = heading
            body = bodies.setdefault(name, [])
        if rest or rest == line:
            body.append(rest)
    return {name: "\n".join(lines).strip() for name, lines in bodies.items()}


def render(sections: Mapping[str, str]) -> str:
    """All five sections in their order; one that is missing stands empty."""
    return "\n\n".join(f"## {name}\n{sections.get(name, '')}".rstrip() for name in SECTIONS)


def mend(text: str, limit: int) -> str:
    """The text as it may stand in a history: all five sections, plain, within `limit` tokens.

    The longest sections are cut first.
    """
    sections = read_sections(text)
    mended = render(sections)
    while (size := count_text(mended)) > limit and any(sections.values()):
        longest = max(sections, key=lambda name: count_text(sections[name]))
        tokens = count_text(sections[longest])
        short = cut_end(sections[longest], max(0, min(tokens - (size - limit), tokens * 9 // 10)))
        sections[longest] = _CUT_MARKS.sub("…", short)
        mended = render(sections)
    return mended
