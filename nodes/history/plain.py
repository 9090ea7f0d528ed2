"""A model's text made plain line by line, so that nothing in it passes for what stands beside it in a history.

Each rule looks at one line only, and a text that is plain stays as it is.
"""

import re

_SPACE = r"[\s\u200b-\u200f\u2060\ufeff]"
"""White space, also what no one sees."""
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_INDENT = rf"(?P<indent>{_SPACE}*(?:(?:[-*+]|\d{{1,9}}[.)]){_SPACE}+)*)"
"""What may stand before a heading or a fence: spaces, and the marks of list items."""
_FENCE = re.compile(rf"{_INDENT}(?:`{{3,}}[^`]*|~~~.*)")
_TICKS = re.compile(rf"{_SPACE}*```")
_UNDERLINE = re.compile(rf"{_SPACE}*(?:=+|-+){_SPACE}*")
_TAGGED_HEADING = re.compile(rf"{_INDENT}<h[1-6]\b[^>]*>(?P<text>.*)</h[1-6]\s*>{_SPACE}*", re.IGNORECASE)
_OWN_HEADINGS = "The user's own messages|Files read and edited|The last errors"
_HEADING = re.compile(
    rf"{_INDENT}(?:[#＃]{{1,2}}(?:{_SPACE}+|$)|[#＃]{{2}}(?![#＃])|[#＃](?={_OWN_HEADINGS}))",
    re.IGNORECASE,
)
_TAG = re.compile(r"<(?=\s*/?\s*system[-_ ]?reminder)|(?<!`)<(?=/?h[12]\b)", re.IGNORECASE)
_BLOCKS = "Auto-read file|Open todos when|Referenced files|Summary of"
_BLOCK = re.compile(rf"(?P<before>[\W\d_]*)\[(?=\s*(?:{_BLOCKS}))", re.IGNORECASE)


def plain(text: str) -> str:
    """The text without fences and underlines; its headings are of the third level or below.

    The heads of our own blocks and our own tags are spelled so that they are none.
    """
    return "\n".join(plain_line(line) for line in unfenced(text).split("\n") if not _UNDERLINE.fullmatch(line))


def unfenced(text: str) -> str:
    """The text without the lines that open or close a fence; line ends are `\\n`."""
    return "\n".join(line for line in _LINE_END.split(text) if not _FENCE.fullmatch(line))


def plain_line(line: str) -> str:
    """One line that is neither fence nor underline."""
    if _TICKS.match(line):
        line = re.sub("`{3,}", "`", line)
    if tagged := _TAGGED_HEADING.fullmatch(line):
        line = f"{tagged['indent']}### {tagged['text']}"
    if heading := _HEADING.match(line):
        line = f"{heading['indent']}### {line[heading.end() :]}"
    line = _TAG.sub("&lt;", line)
    block = _BLOCK.match(line)
    return f"{block['before']}({line[block.end() :]}" if block else line
