"""A thousand loops with dozens of compactions: nothing of what a loop costs grows with the loops before it.

Counted are work and bytes, not seconds, which other processes blur; the seconds are in
`tests/benchmarks/bench_long_run.py`.
"""

from pathlib import Path

import pytest

from long_runs import THRESHOLD, LongRun
from longthread.tools.approximate import approximate_tokens

ONE_LOOP = 150
"""Tokens of a call and its result."""


class Tokenised:
    """Counts the characters that the local counter really looks at; what it remembers costs nothing."""

    def __init__(self) -> None:
        self.characters = 0

    def __call__(self, text: str) -> int:
        self.characters += len(text)
        return approximate_tokens(text)


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> LongRun:
    """The run, with tokenised characters as its work."""
    tokenised = Tokenised()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path_factory.mktemp("no-vocabulary")))
        patch.setattr("longthread.tools.tokens.approximate_tokens", tokenised)
        run = LongRun(tmp_path_factory.mktemp("long") / "t.db", 1_000, work=lambda: tokenised.characters)
        return run.run()


def test_there_are_dozens_of_compactions(thousand: LongRun) -> None:
    assert len(thousand.seen) == 1_000
    assert len(thousand.values["segments"]) >= 24


def test_no_request_is_larger_than_the_threshold_and_one_loop(thousand: LongRun) -> None:
    assert max(loop.tokens for loop in thousand.seen) <= THRESHOLD + ONE_LOOP


def test_a_loop_tokenises_at_the_end_what_it_did_at_the_beginning(thousand: LongRun) -> None:
    first, *_, last = thousand.tenths(lambda loop: loop.work)

    assert last <= first * 1.2
    assert last < 1_500, "more than a few times what a loop adds"


def test_a_loop_stores_at_the_end_what_it_did_at_the_beginning(thousand: LongRun) -> None:
    _, second, *_, last = thousand.bytes_in_tenths()

    assert last <= second * 1.2


def test_the_file_grows_with_the_loops_and_with_the_size_of_their_results(tmp_path: Path) -> None:
    small = LongRun(tmp_path / "small.db", 200, size=250, config=None).run()
    large = LongRun(tmp_path / "large.db", 200, size=2_500, config=None).run()
    tenths = large.bytes_in_tenths()
    added = (large.file_size() - small.file_size()) / 200

    assert max(tenths) <= min(tenths) * 1.2
    assert 0.8 <= added / 9_000 <= 1.3, "each result is stored once"
