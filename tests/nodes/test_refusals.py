import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from longthread.nodes.refusals import is_context_overflow, is_transient, retry_policy
from provider_errors import FINAL, OVERFLOWS, RATE_LIMITS, TRANSIENT, caused, said


def table(errors: dict[str, Exception]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("error", errors.values(), ids=errors.keys())


@table(OVERFLOWS)
def test_a_refusal_for_length_is_an_overflow_and_not_worth_another_try(error: Exception) -> None:
    assert is_context_overflow(error)
    assert not is_transient(error)


@table(RATE_LIMITS)
def test_a_rate_limit_is_worth_another_try_and_never_an_overflow(error: Exception) -> None:
    assert not is_context_overflow(error)
    assert is_transient(error)


@table(TRANSIENT)
def test_what_passes_by_itself_is_worth_another_try(error: Exception) -> None:
    assert is_transient(error)
    assert not is_context_overflow(error)


@table(FINAL)
def test_what_stays_wrong_is_neither(error: Exception) -> None:
    assert not is_transient(error)
    assert not is_context_overflow(error)


def test_text_far_behind_the_message_is_not_read() -> None:
    echo = "x" * 10_000 + " the prompt is too long"
    assert not is_context_overflow(said(f"1 validation error: input_value={echo}"))


def test_errors_that_cause_each_other_and_attributes_that_raise_are_survived() -> None:
    class Hostile(Exception):
        @property
        def body(self) -> object:
            raise RuntimeError("not read yet")

        def __str__(self) -> str:
            raise RuntimeError("no text")

    error = Hostile()
    error.__cause__ = caused(Hostile(), error)
    assert not is_context_overflow(error)
    assert not is_transient(error)


class Count(TypedDict):
    calls: int


def attempts_at(error: Exception) -> int:
    calls = 0

    def node(state: Count) -> Count:
        nonlocal calls
        calls += 1
        raise error

    builder = StateGraph(Count)
    builder.add_node("call", node, retry_policy=retry_policy(initial_interval=0.001))
    builder.add_edge(START, "call").add_edge("call", END)
    with pytest.raises(type(error)):
        builder.compile().invoke({"calls": 0})
    return calls


def test_the_policy_tries_transient_errors_four_times_and_others_once() -> None:
    assert attempts_at(said("Service Unavailable", 503)) == 4
    assert attempts_at(said("Incorrect API key provided", 401)) == 1
    assert attempts_at(said("prompt is too long: 2 tokens > 1 maximum")) == 1
