import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longthread.tools.errors import WorkspaceError
from longthread.tools.replace import Replacement

texts = st.text(alphabet="ab\n\r ", max_size=12)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@settings(max_examples=100)
@given(before=texts, old=texts, new=texts, after=texts)
def test_every_single_edit_can_be_taken_back(before: str, old: str, new: str, after: str) -> None:
    data = (before + old + after).encode()
    try:
        edited = Replacement(old, new).apply("a", data)
    except WorkspaceError:
        return
    assert Replacement(old, new).undo(edited, sha(data)) == data


def test_an_edit_of_every_place_can_be_taken_back() -> None:
    edit = Replacement("x", "yy", every=True)
    edited = edit.apply("a", b"x x\nx")
    assert edited == b"yy yy\nyy"
    assert edit.undo(edited, sha(b"x x\nx")) == b"x x\nx"


def test_an_edit_that_was_not_made_is_not_taken_back() -> None:
    assert Replacement("x", "y").undo(b"a y b y", sha(b"something else")) is None


def test_taking_back_gives_up_on_a_large_file_in_bounded_time() -> None:
    assert Replacement("x", "").undo(b"line\n" * 2_000_000, sha(b"something else")) is None


def test_windows_line_endings_are_kept() -> None:
    edit = Replacement("one\ntwo", "1\n2\n3")
    assert edit.apply("a", b"one\r\ntwo\r\n") == b"1\r\n2\r\n3\r\n"
    assert edit.undo(b"1\r\n2\r\n3\r\n", sha(b"one\r\ntwo\r\n")) == b"one\r\ntwo\r\n"


def test_in_a_file_with_both_endings_those_of_the_place_are_kept() -> None:
    data = b"one\r\ntwo\r\nthree\nfour\n"
    assert Replacement("one\ntwo", "1\n2").apply("a", data) == b"1\r\n2\r\nthree\nfour\n"
    assert Replacement("three\nfour", "3\n4").apply("a", data) == b"one\r\ntwo\r\n3\n4\n"


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("", "x", "old is empty"),
        ("a", "a", "the same"),
        ("c", "x", "is not in"),
        ("aa", "x", "2 times"),
        ("b", "x", "2 times"),
        ("a", "\ud800", "surrogate"),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(old: str, new: str, rule: str) -> None:
    with pytest.raises(WorkspaceError, match=rule):
        Replacement(old, new).apply("a.py", b"aaa b b")
