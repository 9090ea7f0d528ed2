"""The pages that users read: the README's shape, every link, every block of Python."""

import re
from pathlib import Path

import pytest

from markdown_blocks import blocks, run_python_blocks

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [path for name in ("*.md", "docs/*.md") for path in sorted(ROOT.glob(name))]
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())


def commands() -> list[str]:
    return blocks(README)[0].text.splitlines()


def test_the_readme_opens_with_one_sentence() -> None:
    title, sentence, fence = README.split("\n\n")[:3]
    assert title == "# longthread"
    assert sentence.endswith(".")
    assert not re.search(r"[.!?]\s", sentence)
    assert fence.startswith("```")


def test_the_first_block_is_two_commands_that_do_their_own_set_up() -> None:
    demo, tests = commands()
    for command in (demo, tests):
        assert command.startswith("$ python3 -m venv .venv && .venv/bin/pip install ")
    assert demo.endswith(".venv/bin/longthread demo")
    assert re.search(r"&& \.venv/bin/pytest( -\S+( auto)?)*$", tests)


def test_the_two_commands_are_the_only_lines_with_a_prompt() -> None:
    assert [line for line in README.splitlines() if line.startswith("$ ")] == commands()


@every_page
def test_every_relative_link_points_to_a_file(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@every_page
async def test_every_block_of_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    written = page.read_text(encoding="utf-8").count("```python")
    assert await run_python_blocks(page) == written
