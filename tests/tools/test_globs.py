import time

import pytest

from longthread.tools.errors import WorkspaceError
from longthread.tools.globs import Glob


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "a.py"),
        ("*.py", "deep/er/a.py"),
        ("src/*.py", "src/a.py"),
        ("/a.py", "a.py"),
        ("./src/*.py", "src/a.py"),
        ("src/**/*.py", "src/a.py"),
        ("src/**/*.py", "src/deep/er/a.py"),
        ("**/test_*.py", "tests/test_a.py"),
        ("**/test_*.py", "test_a.py"),
        ("src/", "src/deep/a.py"),
        ("src/**", "src/deep/a.py"),
        ("*.{js,ts{,x}}", "a.tsx"),
        ("a[0-9].py", "a1.py"),
    ],
)
def test_a_pattern_fits(pattern: str, path: str) -> None:
    assert Glob(pattern).matches(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "a.pyc"),
        ("src/*.py", "src/deep/a.py"),
        ("src/*.py", "a/src/b.py"),
        ("/a.py", "b/a.py"),
        ("*.{js,ts}", "a.tsx"),
    ],
)
def test_a_pattern_does_not_fit(pattern: str, path: str) -> None:
    assert not Glob(pattern).matches(path)


@pytest.mark.parametrize("pattern", ["", "  ", "x" * 501, "{a,b}" * 7])
def test_a_pattern_that_is_empty_or_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(WorkspaceError, match="pattern"):
        Glob(pattern)


@pytest.mark.parametrize("pattern", ["*a" * 60 + "*b", "**/a/" * 60 + "b", "{" * 100, "}{" * 100])
def test_no_pattern_takes_long(pattern: str) -> None:
    began = time.monotonic()
    Glob(pattern).matches("a" * 250)
    Glob(pattern).matches("a/" * 120 + "c")
    assert time.monotonic() - began < 1
