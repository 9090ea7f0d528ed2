"""The table of what is still in sight after a compaction, for longthread; `tests/benchmarks/bench_memory.py`."""

import pytest

from memory.contestants import longthread
from memory.table import ROWS, Column, column

AT_LEAST = {
    "directives": 1.0,
    "todos": 1.0,
    "edited": 1.0,
    "errors": 0.9,
    "files": 0.95,
    "else": 1.0,
}


@pytest.fixture(scope="module")
def measured() -> Column:
    return column(longthread)


@pytest.mark.parametrize(("title", "name"), [(title, name) for title, name, _ in ROWS if name in AT_LEAST])
def test_what_matters_stays_in_sight(measured: Column, title: str, name: str) -> None:
    assert round(measured.shares[title], 3) >= AT_LEAST[name], f"{title}: {measured.shares[title]:.3f}"


def test_the_first_request_leaves_room(measured: Column) -> None:
    assert measured.tokens <= 15_000
    assert measured.most_tokens <= 15_500


def test_the_session_is_compacted_often_enough_to_tell(measured: Column) -> None:
    assert min(measured.compactions) >= 5
