"""Counting on a recorded session of a real agent; every figure with either local counter."""

import pytest
from langchain_core.messages import AnyMessage

from counting_figures import (
    SESSION,
    foresee,
    foresee_by_one_ratio,
    load_session,
    percentile,
    summary,
    weigh_hidden,
    weigh_hidden_by_one_ratio,
)
from longthread.nodes.history.weights import TokenMeter
from longthread.tools.tokens import local_counter_name

pytestmark = pytest.mark.skipif(
    not SESSION.exists(), reason="the recorded session is not beside this repository (shared/data/real_session.jsonl)"
)


@pytest.fixture(params=["o200k_base", "approximate"], autouse=True)
def counter(request: pytest.FixtureRequest) -> str:
    """Each local counter in turn."""
    if request.param == "o200k_base":
        request.getfixturevalue("vocabulary")
    assert local_counter_name() == request.param
    return str(request.param)


@pytest.fixture(scope="module")
def session() -> list[AnyMessage]:
    """The recorded messages."""
    return load_session()


def test_the_next_request_is_foreseen_within_one_percent_of_its_input(session: list[AnyMessage]) -> None:
    foreseen = [request for request in foresee(session) if not request.apart]
    assert len(foreseen) > 400
    assert percentile([request.of_input for request in foreseen], 0.99) <= 0.01


def test_growth_is_foreseen_better_than_by_a_count_scaled_by_one_ratio(session: list[AnyMessage]) -> None:
    middle, most = summary([request.of_growth for request in foresee(session) if not request.apart])
    assert middle < 0.015 < 0.037
    assert most < 0.09 < 0.106
    plain = summary([request.of_growth for request in foresee_by_one_ratio(session) if not request.apart])
    assert (middle, most) < plain


def test_a_request_after_an_aborted_run_is_off_once_and_then_right_again(session: list[AnyMessage]) -> None:
    foreseen = foresee(session)
    after = [foreseen[n + 1] for n, request in enumerate(foreseen[:-1]) if request.apart]
    assert sum(request.apart for request in foreseen) == 20
    assert percentile([request.of_input for request in after if not request.apart], 0.9) <= 0.01


@pytest.mark.parametrize("parity", [0, 1])
def test_stretches_between_hidden_records_are_weighed_better_than_by_one_ratio(
    session: list[AnyMessage], parity: int
) -> None:
    middle, most = summary(weigh_hidden(session, parity))
    assert middle < 0.01 < 0.07
    assert most < 0.10 < 0.18
    assert (middle, most) < summary(weigh_hidden_by_one_ratio(session, parity))


def test_unanswered_calls_of_aborted_runs_weigh_with_the_results_put_in_for_them(session: list[AnyMessage]) -> None:
    weights = TokenMeter(0, None).weights(session)
    assert len(weights) == len(session)
    assert weights[30] > 16 * 25
    assert min(weights) >= 1
