"""Fenced blocks of a Markdown page, and running them."""

import ast
import inspect
import re
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

_FENCE = re.compile(
    r"^(?P<marks>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=marks)[ ]*$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """One fenced block; `line` is that of its first line of text, from 1."""

    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(found["language"], found["text"], page.count("\n", 0, found.start("text")) + 1)
        for found in _FENCE.finditer(page)
    ]


async def run_python_blocks(path: Path) -> int:
    """Run a page's `python` blocks in order in one namespace, `await` allowed; how many ran."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    found = [block for block in blocks(path.read_text(encoding="utf-8")) if block.language == "python"]
    for block in found:
        result = eval(_compiled(block, path), namespace)
        if inspect.isawaitable(result):
            await result
    return len(found)


def _compiled(block: Block, path: Path) -> CodeType:
    """Compiled so that a traceback names the page and its line."""
    code: CodeType = compile(
        "\n" * (block.line - 1) + block.text, str(path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )
    return code
