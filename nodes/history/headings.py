"""The headings of the summary's sections, as weak models write them."""

import json
import re

SECTIONS = ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
_FARTHEST = 40
"""Characters that may stand before a name."""
_NAME = re.compile("|".join(name.replace(" ", r"\s+") for name in SECTIONS), re.IGNORECASE)
_MARK = r"(?:[#*_+\-\s]|[^\w\s\x00-\x7f…“”„«»‹›‘’（）。，、])"
"""Marks of headings, lists and emphasis, and emoji. A quotation opens nothing, nor does what was cut at `…`."""
_BULLET = re.compile(r"[-*+•]\s+")
_BEFORE = re.compile(rf"{_MARK}*(?:\(?\d{{1,2}}(?:{_MARK}|[.):])+){{0,2}}")
_AFTER = re.compile(rf"{_MARK}*")
_MARKS_ALONE = re.compile(r"[#*_\s]*")


def heading_of(line: str) -> tuple[str, str] | None:
    """The section that a line opens, and what else stands on the line.

    A name in a sentence opens none: it stands alone, is marked (`#`, number, bold), or a colon follows it.
    """
    line = line.strip()
    found = _NAME.search(line, 0, _FARTHEST + max(map(len, SECTIONS)))
    bullet = _BULLET.match(line)
    start = bullet.end() if bullet else 0
    if found is None or not _BEFORE.fullmatch(before := line[start : found.start()]):
        return None
    rest = _rest(before, line[found.end() :], is_item=bullet is not None)
    return None if rest is None else (_known(found.group()), rest)


def _rest(before: str, after: str, is_item: bool) -> str | None:
    """What follows a name on its line, `None` where the name is no heading."""
    close = _AFTER.match(after)
    marks = close.group() if close else ""
    tail = after[len(marks) :]
    if not tail:
        return "" if before.strip() or not is_item else None
    if tail[0] in ":：":
        is_bold = re.search("[*_]", before) and not re.search("[*_]", marks)
        rest = tail[1:].lstrip().lstrip("*_" if is_bold else "").lstrip()
        return "" if _MARKS_ALONE.fullmatch(rest) else rest
    return tail if "#" in before and (tail[0] == "(" or re.search(r"\s[-–—]", marks)) else None


def _known(name: str) -> str:
    """A section's own spelling; the name itself where it is no section's."""
    letters = "".join(filter(str.isalnum, name)).lower()
    return next((known for known in SECTIONS if known.replace(" ", "").lower() == letters), name)


def from_json(text: str) -> str:
    """An object with the sections' names as keys as a text with headings; any other text as it is."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return text
    if not isinstance(found, dict):
        return text
    sections = {_known(name): _lines(value) for name, value in found.items() if _known(name) in SECTIONS}
    return "\n".join(f"## {name}\n{body}" for name, body in sections.items()) or text


def _lines(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(f"- {item}" for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""
