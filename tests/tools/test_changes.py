import time

from hypothesis import given, settings
from hypothesis import strategies as st

from longthread.tools.changes import MAX_DIFF_LINES, change

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", ""]), max_size=12).map("".join)


def test_a_change_is_shown_with_its_lines_around_and_their_numbers() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 101))
    made = change(before, before.replace("line 50\n", "new\nnewer\n"))
    assert (made.added, made.removed) == (2, 1)
    assert made.diff.splitlines() == [
        "@@ -48,5 +48,6 @@", " line 48", " line 49", "-line 50", "+new", "+newer", " line 51", " line 52"
    ]  # fmt: skip


@settings(max_examples=100)
@given(before=lines, after=lines)
def test_the_counts_are_those_of_the_lines(before: str, after: str) -> None:
    made = change(before, after)
    assert len(before.splitlines()) - made.removed + made.added == len(after.splitlines())
    assert (made.added + made.removed > 0) == (before != after)


def test_a_newline_at_the_end_counts_as_a_change() -> None:
    assert change("a", "a\n").diff == "@@ -1 +1 @@\n-a\n+a"


def test_a_long_diff_is_cut() -> None:
    made = change("a\n" * 500, "b\n" * 500)
    assert (made.added, made.removed) == (500, 500)
    assert len(made.diff.splitlines()) == MAX_DIFF_LINES + 1
    assert made.diff.endswith("more lines of diff)")
    assert len(change("a", "b" * 100_000).diff) < 1_000


def test_a_huge_change_takes_no_time() -> None:
    began = time.monotonic()
    made = change("a\nb\n" * 100_000, "b\na\n" * 100_000)
    assert made.added > 100_000
    assert time.monotonic() - began < 2
