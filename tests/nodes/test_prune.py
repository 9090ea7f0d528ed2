"""Old tool results are shown by their summary: in steps, for good, and nothing else changes."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage, messages_to_dict

from histories import IMAGE, call, histories, numbered, result
from longthread.nodes.history.prune import PruneStep, plan_step, show_pruned, shown_form
from longthread.nodes.history.repair import repair
from longthread.tools.results import text_of
from validity import assert_valid, wire

LONG = "line\n" * 100
TRACE = "\n".join(["Traceback:", "  File a.py", *(f"  frame {n}" for n in range(50)), "ValueError: no"])


def weight(message: AnyMessage) -> int:
    """One token a character."""
    return len(text_of(message))


def loops(n: int, size: int = 500) -> list[AnyMessage]:
    """A user message and `n` loops of a call and a result of `size` characters."""
    found: list[AnyMessage] = [HumanMessage("go")]
    for k in range(n):
        found += [AIMessage("", tool_calls=[call(f"c{k}")]), result(call(f"c{k}"), "x" * size)]
    return numbered(found)


def step(
    messages: Sequence[AnyMessage], through: str | None = None, *, protected: int = 0, min_savings: int = 1
) -> PruneStep | None:
    weights = [weight(message) for message in messages]
    return plan_step(messages, weights, through, protected=protected, min_savings=min_savings, shown_weight=weight)


def shown_whole(messages: Sequence[AnyMessage]) -> list[str]:
    return [m.tool_call_id for m in messages if isinstance(m, ToolMessage) and "cleared" not in m.additional_kwargs]


def test_a_pruned_result_shows_its_summary_and_how_to_get_it_back() -> None:
    message = result(call("c1"), LONG)
    message.additional_kwargs["summary"] = "read a.py:1-100"
    content = text_of(shown_form(message))
    assert content.endswith("read a.py:1-100")
    assert "Cleared" in content
    assert "repeat the call" in content


def test_a_result_without_summary_shows_name_size_and_first_line() -> None:
    assert text_of(shown_form(result(call("c1"), LONG))).endswith("read_file result, 500 characters, 100 lines: line")


def test_an_error_keeps_its_first_and_last_lines() -> None:
    lines = text_of(shown_form(result(call("c1"), TRACE, error=True))).splitlines()
    assert lines[:2] == ["Traceback:", "File a.py"]
    assert lines[-1] == "ValueError: no"
    assert len(lines) == 7


@pytest.mark.parametrize("error", [False, True])
def test_a_result_that_is_short_already_is_shown_as_it_is(error: bool) -> None:
    message = result(call("c1"), "ok", error=error)
    assert shown_form(message) is message


def test_a_result_with_an_image_shows_its_summary_only() -> None:
    assert isinstance(shown_form(result(call("c1"), [IMAGE])).content, str)


@settings(max_examples=100, deadline=None)
@given(histories())
def test_the_shown_form_is_never_longer_and_is_its_own_shown_form(history: list[AnyMessage]) -> None:
    for message in history:
        if isinstance(message, ToolMessage):
            shown = shown_form(message)
            assert shown_form(shown) == shown
            assert isinstance(message.content, list) or len(text_of(shown)) <= len(message.content)


@settings(max_examples=100, deadline=None)
@given(histories(), st.integers(0, 60))
def test_pruning_keeps_a_request_valid_and_the_history_as_it_is(history: list[AnyMessage], at: int) -> None:
    repaired = repair(history)
    before = messages_to_dict(repaired)
    shown = show_pruned(repaired, f"m{at}")
    assert_valid(shown)
    assert [message.id for message in shown] == [message.id for message in repaired]
    assert messages_to_dict(repaired) == before


def test_results_after_the_named_message_are_shown_whole() -> None:
    assert shown_whole(show_pruned(loops(4), "m4")) == ["c2", "c3"]


@pytest.mark.parametrize("through", [None, "gone"])
def test_an_id_that_no_message_has_hides_nothing(through: str | None) -> None:
    assert show_pruned(loops(4), through) == loops(4)


def test_tools_to_keep_and_marked_results_stay_whole() -> None:
    messages = loops(3)
    messages[2].additional_kwargs["never_prune"] = True
    assert shown_whole(show_pruned(messages, "m6")) == ["c0"]
    assert show_pruned(messages, "m6", keep={"read_file"}) == messages


def test_a_step_hides_what_is_outside_the_protected_tokens() -> None:
    planned = step(loops(10), protected=1_000)
    assert planned is not None
    assert (planned.through, planned.calls) == ("m16", [f"c{n}" for n in range(8)])
    after = show_pruned(loops(10), planned.through)
    assert planned.saved == sum(map(weight, loops(10))) - sum(map(weight, after))


def test_a_step_that_saves_too_little_is_not_taken() -> None:
    saving = step(loops(10))
    assert saving is not None
    assert step(loops(10), min_savings=saving.saved) == saving
    assert step(loops(10), min_savings=saving.saved + 1) is None


def test_results_that_the_model_has_not_answered_stay_whole() -> None:
    calls = [call("c1"), call("c2")]
    messages = numbered([HumanMessage("go"), AIMessage("", tool_calls=calls), *(result(c, LONG) for c in calls)])
    assert step(messages) is None
    answered = step([*messages, AIMessage("done")])
    assert answered is not None
    assert answered.calls == ["c1", "c2"]


def test_a_step_only_goes_forward() -> None:
    assert step(loops(10), "m20") is None
    planned = step(loops(10), "m8")
    assert planned is not None
    assert planned.calls == ["c4", "c5", "c6", "c7", "c8"]


def test_a_result_that_is_not_shortened_is_not_named() -> None:
    messages = loops(3)
    messages[2] = messages[2].model_copy(update={"content": "ok"})
    planned = step(messages)
    assert planned is not None
    assert planned.calls == ["c1"]


def test_a_step_never_rests_on_a_stand_in() -> None:
    history = [
        *loops(2),
        AIMessage("", tool_calls=[call("lost")], id="m5"),
        HumanMessage("so?", id="m6"),
        AIMessage("!"),
    ]
    planned = step(repair(history))
    assert planned is not None
    assert planned.through == "m4"


def test_a_step_never_rests_on_a_result_that_the_request_leaves_out() -> None:
    orphan = ToolMessage(LONG, tool_call_id="nobody's", id="m5")
    planned = step([*loops(2), orphan, AIMessage("!", id="m6")])
    assert planned is not None
    assert (planned.through, planned.calls) == ("m4", ["c0", "c1"])


def test_a_step_counts_results_where_they_stand_in_the_request() -> None:
    calls = [call("c1"), call("c2")]
    swapped = [result(calls[1], "y" * 500), result(calls[0], "x" * 500)]
    history = numbered([HumanMessage("go"), AIMessage("", tool_calls=calls), *swapped, AIMessage("done")])
    planned = step(history, protected=500)
    assert planned is not None
    assert (planned.through, planned.calls) == ("m3", ["c1"])
    assert shown_whole(show_pruned(repair(history), planned.through)) == ["c2"]


def test_an_assistant_message_that_says_nothing_answers_nothing() -> None:
    assert step([*loops(1), AIMessage("", id="m3")]) is None


@settings(max_examples=100, deadline=None)
@given(histories(), st.integers(0, 500))
def test_a_step_names_exactly_what_it_hides(history: list[AnyMessage], protected: int) -> None:
    planned = step(history, protected=protected)
    hidden = show_pruned(repair(history), planned.through) if planned else []
    cleared = [m for m in hidden if isinstance(m, ToolMessage) and "cleared" in m.additional_kwargs]
    assert (planned.calls if planned else []) == [m.additional_kwargs.get("call", m.tool_call_id) for m in cleared]


def test_renamed_calls_are_named_as_the_history_has_them() -> None:
    messages = loops(2)
    again = [m.model_copy(update={"id": f"again-{m.id}"}) for m in messages[1:]]
    planned = step(repair([*messages, *again]))
    assert planned is not None
    assert planned.calls == ["c0", "c1", "c0"]


def test_thirty_loops_are_pruned_in_few_large_steps() -> None:
    through: str | None = None
    steps: list[PruneStep] = []
    for n in range(1, 31):
        if planned := step(loops(n), through, protected=1_000, min_savings=2_000):
            through = planned.through
            steps.append(planned)
    assert 3 <= len(steps) <= 6
    assert all(planned.saved >= 2_000 for planned in steps)
    hidden = [one for planned in steps for one in planned.calls]
    assert hidden == [f"c{n}" for n in range(len(hidden))]


def test_between_two_steps_requests_are_prefixes_of_one_another() -> None:
    through: str | None = None
    breaks = 0
    previous = wire(loops(1))
    for n in range(2, 31):
        if planned := step(loops(n), through, protected=1_000, min_savings=2_000):
            through = planned.through
            breaks += 1
        now = wire(show_pruned(loops(n), through))
        assert planned or now[: len(previous)] == previous
        previous = now
    assert breaks
