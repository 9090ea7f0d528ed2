"""Occupancy and weights: the provider's count where there is one, the scaled local count where there is none."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from histories import IMAGE, call, histories, numbered, result
from longthread.nodes.history.cut import summary_only
from longthread.nodes.history.prune import shown_form
from longthread.nodes.history.records import records, same_model
from longthread.nodes.history.repair import repair
from longthread.nodes.history.weights import TokenMeter
from longthread.tools.results import calls_of
from longthread.tools.tokens import IMAGE_TOKENS, count_message, local_counter_name
from provider_counts import Provider, usage

METER = TokenMeter(100, "model-a")
LINES = "def total(lines): return sum(line.amount for line in lines)\n"


@pytest.fixture(params=["o200k_base", "approximate"], autouse=True)
def counter(request: pytest.FixtureRequest) -> str:
    """Every behaviour holds with either local counter."""
    if request.param == "o200k_base":
        request.getfixturevalue("vocabulary")
    assert local_counter_name() == request.param
    return str(request.param)


def human(text: str = "Please mend the failing test.") -> AnyMessage:
    return HumanMessage(text, id="first")


def answer(tokens_in: int, tokens_out: int, text: str = "Done as you asked.", **extra: object) -> AnyMessage:
    """An answer without a stamp, as in an imported history."""
    metadata = {"model_name": "model-a", **extra}
    return AIMessage(text, usage_metadata=usage(tokens_in, tokens_out), response_metadata=metadata)


def thread(provider: Provider, loops: int, sizes: Sequence[int] = (3, 40, 11, 160, 7)) -> list[AnyMessage]:
    """A user message and loops of a call and a result, every request measured."""
    found: list[AnyMessage] = [human()]
    for n in range(loops):
        asked = call(f"c{n}", ("read_file", "grep")[n % 2], path=f"src/file_{n}.py")
        found.append(provider.answer(found, AIMessage("I look at the next file.", tool_calls=[asked])))
        found.append(result(asked, LINES * sizes[n % len(sizes)]).model_copy(update={"id": f"m{len(found)}"}))
    return found


# Occupancy and its source


def test_without_a_record_the_whole_request_is_estimated_system_prompt_and_schemas_included() -> None:
    history = [human(), AIMessage("Hello."), human("Go on.")]
    expected = 100 + sum(map(count_message, history))
    assert METER.occupancy(history) == {"tokens": expected, "source": "estimated"}


def test_an_empty_history_fills_what_never_changes() -> None:
    assert METER.occupancy([]) == {"tokens": 100, "source": "estimated"}
    assert METER.weights([]) == []


def test_right_after_an_answer_occupancy_is_what_the_provider_measured() -> None:
    assert METER.occupancy([human(), answer(900, 20)]) == {"tokens": 920, "source": "measured"}


def test_what_came_after_the_record_is_added() -> None:
    history = [human(), answer(900, 20), human("word " * 300)]
    occupancy = METER.occupancy(history)
    assert occupancy["source"] == "extrapolated"
    assert 1200 <= occupancy["tokens"] <= 1260


def test_an_image_after_the_record_counts_by_the_constant() -> None:
    history = [human(), answer(900, 20), HumanMessage([IMAGE])]
    assert METER.occupancy(history)["tokens"] == pytest.approx(920 + IMAGE_TOKENS, abs=10)


def test_cached_tokens_are_part_of_occupancy_even_where_they_were_left_out_of_the_input() -> None:
    details = {"cache_read": 700, "cache_creation": 100}
    for given_input in (900, 100):
        message = AIMessage("Done.", usage_metadata=usage(given_input, 5, input_token_details=details))
        assert METER.occupancy([human(), message])["tokens"] == 905


def test_reasoning_is_not_carried_into_the_next_request() -> None:
    made = usage(900, 520, output_token_details={"reasoning": 500})
    assert METER.occupancy([human(), AIMessage("Done as you asked.", usage_metadata=made)])["tokens"] == 920


def test_hidden_reasoning_that_nobody_reported_is_not_taken_for_the_answer() -> None:
    occupancy = METER.occupancy([human(), answer(900, 5_000, "Done.")])
    assert occupancy["source"] == "extrapolated"
    assert 900 < occupancy["tokens"] < 920


@pytest.mark.parametrize("reason", ["aborted", "error"])
def test_an_answer_that_was_cut_off_is_weighed_and_not_believed(reason: str) -> None:
    for output in (1, 120):
        history = [human(), answer(900, output, "word " * 200, finish_reason=reason)]
        assert 1100 <= METER.occupancy(history)["tokens"] <= 1140


# Which records count


def test_a_stamped_record_counts_only_where_it_stood_and_behind_the_same_first_message() -> None:
    history: list[AnyMessage] = [human(), AIMessage("Hello."), human("Go on.")]
    stamped = Provider().answer(history, AIMessage("Done."))
    assert METER.occupancy([*history, stamped])["source"] == "measured"
    assert METER.occupancy([*history[:1], stamped])["source"] == "estimated"
    assert METER.occupancy([HumanMessage("other", id="other"), *history[1:], stamped])["source"] == "estimated"


def test_a_record_from_before_a_compaction_does_not_count() -> None:
    summary = SystemMessage("Summary.", id="s", additional_kwargs={"source": "compaction_summary"})
    imported = [human(), answer(90_000, 20)]
    assert METER.occupancy(imported)["tokens"] == 90_020
    for history in ([summary, *imported], [human(), summary, answer(90_000, 20)]):
        occupancy = METER.occupancy(history)
        assert occupancy["source"] == "estimated"
        assert occupancy["tokens"] < 200


def test_the_first_record_after_a_compaction_counts_again() -> None:
    summary = SystemMessage("Summary.", id="s", additional_kwargs={"source": "compaction_summary"})
    history: list[AnyMessage] = [summary, human("Go on."), answer(90_000, 20)]
    history.append(Provider(fixed=500).answer(history, AIMessage("Done.")))
    assert METER.occupancy(history)["source"] == "measured"
    assert METER.occupancy(history)["tokens"] < 700


def test_another_models_record_does_not_count_for_this_one() -> None:
    history = [human(), answer(900, 20)]
    assert TokenMeter(100, "model-b").occupancy(history)["source"] == "estimated"
    assert TokenMeter(100, None).occupancy(history)["source"] == "measured"
    assert TokenMeter(100, "unknown").occupancy(history)["source"] == "measured"


def test_without_a_model_asked_for_the_one_that_answered_last_decides() -> None:
    history = [human(), answer(900, 20), human("Go on."), answer(5_000, 20, model_name="model-b")]
    assert [record.model for record in records(history)] == ["model-b"]
    assert TokenMeter(0, "model-a").occupancy(history)["source"] == "extrapolated"


def test_the_stamp_says_which_model_was_asked_where_the_provider_names_it_otherwise() -> None:
    stamp = {"n": 1, "first": "first", "pruned": None, "model": "my-deployment"}
    message = answer(900, 20).model_copy(update={"additional_kwargs": {"request": stamp}})
    assert TokenMeter(0, "my-deployment").occupancy([human(), message])["source"] == "measured"
    assert TokenMeter(0, "model-a").occupancy([human(), message])["source"] == "estimated"


@pytest.mark.parametrize(
    ("asked", "reported", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("gemini-2.5-pro", "models/gemini-2.5-pro", True),
        ("mistral-large-latest", "mistral-large-2407", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4", "gpt-4.1", False),
        ("claude-sonnet-4", "claude-sonnet-4-5", False),
        ("llama3:8b", "llama3:70b", False),
        (None, "gpt-4o", True),
    ],
)
def test_a_dated_snapshot_is_the_model_and_a_sibling_is_not(asked: str | None, reported: str, same: bool) -> None:
    assert same_model(asked, reported) is same


@pytest.mark.parametrize("broken", [{"n": "1"}, {"n": 1}, "stamp", None, {"n": 1, "first": "first", "model": ["x"]}])
def test_a_broken_stamp_is_no_error(broken: object) -> None:
    message = answer(900, 20).model_copy(update={"additional_kwargs": {"request": broken}})
    assert METER.occupancy([human(), message])["tokens"] > 0


def test_usage_without_input_is_no_record() -> None:
    assert records([human(), answer(0, 20)]) == []


def test_a_record_holds_what_was_measured() -> None:
    details = {"input_token_details": {"cache_read": 700, "cache_creation": 100}}
    made = usage(900, 60, **details, output_token_details={"reasoning": 40})
    (record,) = records([human(), AIMessage("Done.", usage_metadata=made)])
    assert (record.n, record.input, record.output) == (1, 900, 20)
    assert (record.cache_read, record.cache_write, record.reasoning) == (700, 100, 40)


# What a thread teaches


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 0), (1.25, 12), (0.8, 30), (1.6, 4)])
def test_the_next_request_is_foreseen_whatever_the_providers_tokenizer(slope: float, offset: float) -> None:
    provider = Provider(slope, offset, fixed=2_000)
    history = thread(provider, 30)
    for end in range(12, len(history)):
        expected = provider.request(history[:end])
        assert METER.occupancy(history[:end])["tokens"] == pytest.approx(expected, rel=0.02)


def test_the_ratio_is_this_threads_and_one_as_long_as_nothing_is_known() -> None:
    assert METER.ratio([human()]) == 1
    assert METER.ratio(thread(Provider(1.3, 12), 20)) == pytest.approx(1.3, rel=0.03)


def test_the_first_request_alone_gives_a_ratio_where_it_is_plausible() -> None:
    history = [human("word " * 1_000), answer(1_650, 20)]
    assert METER.ratio(history) == pytest.approx(1_650 / (100 + count_message(history[0])))
    assert METER.ratio([human(), answer(90_000, 20)]) == 1


def test_one_request_with_something_unseen_in_it_moves_nothing() -> None:
    provider = Provider(1.25, 12)
    history = thread(provider, 10)
    provider.fixed = 3_000
    last = provider.answer(history, AIMessage("I look on."))
    ratio = METER.ratio([*history, last])
    assert ratio == pytest.approx(METER.ratio(history), rel=0.02)


def test_short_messages_teach_nothing_about_long_ones() -> None:
    provider = Provider(1.0, 12, fixed=2_000)
    history = thread(provider, 12, sizes=(1,))
    history[-1] = history[-1].model_copy(update={"content": LINES * 400})
    assert METER.occupancy(history)["tokens"] == pytest.approx(provider.request(history), rel=0.03)


def test_the_newest_requests_decide() -> None:
    provider = Provider(1.0, 0)
    history = thread(provider, 60)
    provider.slope = 1.5
    later = thread(provider, 60)
    stamped = [m.model_copy(update={"id": f"later{n}", "usage_metadata": None}) for n, m in enumerate(later[1:])]
    for n, message in enumerate(later[1:]):
        if isinstance(message, AIMessage):
            stamped[n] = provider.answer([*history, *stamped[:n]], message)
    assert METER.ratio([*history, *stamped]) == pytest.approx(1.5, rel=0.03)


def test_an_answer_of_another_model_weighs_by_the_local_count() -> None:
    history = [human(), answer(900, 40, model_name="model-b")]
    assert METER.weights(history)[1] == count_message(history[1])
    assert TokenMeter(100, "model-b").weights(history)[1] == 40


def test_one_request_that_grew_for_another_reason_is_no_lesson_even_where_there_is_no_other() -> None:
    provider = Provider(1.0, 0)
    history = thread(provider, 1, sizes=(80,))
    provider.fixed = 6_000
    history.append(provider.answer(history, AIMessage("I look on.")))
    assert METER.ratio(history) == 1


def test_results_of_each_tool_are_weighed_as_that_tools_were() -> None:
    dense = Provider(2.0, 0)
    provider = Provider(1.0, 0, fixed=2_000)
    provider.of = lambda m, plain=provider.of: dense.of(m) if m.name == "grep" else plain(m)  # type: ignore[method-assign, misc]  # a provider whose tokens are dense in one tool's text
    history = thread(provider, 20)
    for end in range(24, len(history)):
        expected = provider.request(history[:end])
        assert METER.occupancy(history[:end])["tokens"] == pytest.approx(expected, rel=0.005)


def test_requests_of_another_agent_in_a_shared_history_say_nothing() -> None:
    history = [human(), answer(900, 40), human("Go on."), answer(20_000, 10).model_copy(update={"name": "other"})]
    mine = TokenMeter(100, "model-a", agent="me")
    assert mine.occupancy([*history[:1], history[1].model_copy(update={"name": "me"}), *history[2:]])["tokens"] < 1_000
    assert TokenMeter(100, "model-a").occupancy(history)["tokens"] == 20_010


def test_a_rebuilt_history_is_scaled_as_in_the_thread_it_comes_from() -> None:
    provider = Provider(1.4, 0)
    rebuilt = [SystemMessage(LINES * 200), human()]
    expected = 1.4 * (100 + sum(map(count_message, rebuilt)))
    assert METER.scaled(rebuilt, thread(provider, 20)) == pytest.approx(expected, rel=0.03)
    assert METER.scaled([], thread(provider, 20)) == pytest.approx(140, rel=0.03)
    assert METER.scaled(rebuilt) == 100 + sum(map(count_message, rebuilt))
    assert METER.scaled([]) == 100


# Weights


def test_between_two_records_the_weights_add_up_to_what_was_measured() -> None:
    provider = Provider(1.25, 12, fixed=2_000)
    history = thread(provider, 12)
    weights = METER.weights(history)
    growth = provider.request(history[:21]) - provider.request(history[:1])
    assert sum(weights[1:21]) == pytest.approx(growth, abs=12)


def test_a_growth_that_is_not_plausible_is_not_shared_out() -> None:
    history = thread(Provider(1.0, 0), 6)
    swollen = history[5].model_copy(update={"usage_metadata": usage(60_000, 20)})
    assert max(METER.weights([*history[:5], swollen, *history[6:]])) < 3_000


def test_a_growth_across_a_prune_step_is_not_shared_out() -> None:
    provider = Provider(1.0, 0)
    history = thread(provider, 5, sizes=(20, 20, 20, 20, 60))
    history.append(provider.answer(history, AIMessage("I look on."), history[2].id))
    assert METER.weights(history)[-2] == pytest.approx(provider.of(history[-2]), rel=0.05)


def test_a_growth_from_which_a_message_was_removed_is_not_shared_out() -> None:
    provider = Provider(1.0, 0)
    history = [*thread(provider, 3), HumanMessage("word " * 300, id="h1"), HumanMessage("word " * 300, id="h2")]
    history.append(provider.answer(history, AIMessage("I look on.")))
    del history[-3]
    assert METER.weights(history)[-2] == pytest.approx(provider.of(history[-2]), rel=0.05)


def test_one_result_weighs_more_than_another_as_its_text_does() -> None:
    history = thread(Provider(1.25, 12), 10)
    weights = METER.weights(history)
    assert weights[8] == max(weights)
    assert weights[8] == pytest.approx(4 * weights[4], rel=0.15)


def test_a_pruned_result_weighs_what_its_summary_does() -> None:
    history = thread(Provider(1.25, 12), 10)
    whole, pruned = METER.weights(history), METER.weights(history, history[8].id)
    assert [n for n in range(len(history)) if whole[n] != pruned[n]] == [2, 4, 6, 8]
    assert pruned[8] < 80 < whole[8]


def test_results_of_tools_that_are_kept_are_never_weighed_as_pruned() -> None:
    history = thread(Provider(), 10)
    keeping = TokenMeter(100, "model-a", frozenset({"read_file", "grep"}))
    assert keeping.weights(history, history[8].id) == keeping.weights(history)


def test_a_prune_step_since_the_record_makes_occupancy_smaller_by_what_it_hides() -> None:
    provider = Provider(1.25, 12, fixed=2_000)
    history = thread(provider, 10)
    before, after = METER.occupancy(history), METER.occupancy(history, history[8].id)
    assert after == {
        "tokens": pytest.approx(provider.request(history, history[8].id), rel=0.02),
        "source": "extrapolated",
    }
    assert before["tokens"] - after["tokens"] > 2_000


def test_records_that_fall_after_a_prune_step_are_believed_and_not_mistaken_for_weights() -> None:
    provider = Provider(1.25, 12, fixed=2_000)
    history = thread(provider, 10)
    pruned = history[8].id
    history.append(provider.answer(history, AIMessage("I look on."), pruned))
    history.append(HumanMessage("word " * 100, id="last"))
    expected = provider.request(history, pruned)
    assert METER.occupancy(history, pruned)["tokens"] == pytest.approx(expected, rel=0.02)
    assert min(METER.weights(history, pruned)) > 0


def test_a_history_in_its_summary_form_is_not_weighed_by_what_it_once_measured() -> None:
    history = thread(Provider(1.25, 12), 10)
    short = summary_only(repair(history))
    weights = METER.weights(short, thread=history)
    assert max(weights[n] for n in (4, 6, 8)) < 80


def test_a_result_in_its_summary_form_is_not_weighed_by_a_growth_that_was_little_larger() -> None:
    provider = Provider(1.0, 0)
    history = thread(provider, 6, sizes=(6, 40))
    history[2] = shown_form(result(call("c0"), LINES * 6))
    assert METER.weights(history)[2] == pytest.approx(provider.of(history[2]), rel=0.05)


def test_a_result_that_was_hidden_when_it_was_measured_is_not_weighed_by_it() -> None:
    provider = Provider(1.0, 0)
    history = thread(provider, 5, sizes=(1, 1, 1, 1, 4))
    hidden = history[10].id
    history[9] = provider.answer(history[:9], AIMessage("I look.", tool_calls=[call("c4")]), hidden)
    history.append(provider.answer(history, AIMessage("I look on."), hidden))
    assert METER.weights(history)[10] == pytest.approx(provider.of(history[10]), rel=0.05)


def test_records_of_two_threads_say_nothing_of_what_stands_between_them() -> None:
    provider = Provider(1.0, 0)
    history = [*thread(provider, 3), HumanMessage("word " * 300, id="h1")]
    history.append(provider.answer([HumanMessage("word " * 100, id="other"), *history[1:]], AIMessage("I look on.")))
    assert METER.weights(history)[-2] == pytest.approx(provider.of(history[-2]), rel=0.05)


def test_results_that_a_request_leaves_out_weigh_nothing_and_teach_nothing() -> None:
    provider, history = Provider(1.0, 0), [human()]
    for n in range(6):
        history.append(provider.answer(history, AIMessage("I look.", tool_calls=[call(f"c{n}")])))
        history += [result(call(f"c{n}"), LINES * 20), result(call(f"c{n}"), LINES * 20)]
        history[-2:] = [m.model_copy(update={"id": f"r{n}{k}"}) for k, m in enumerate(history[-2:])]
    assert METER.ratio(history) == pytest.approx(1, rel=0.03)
    assert [METER.weights(history)[n] for n in range(3, len(history), 3)] == [0] * 6


def test_after_a_compaction_the_ratio_that_the_summary_carries_holds_until_there_is_a_new_one() -> None:
    extra = {"source": "compaction_summary", "segment": {"number": 1, "scale": 1.4}}
    history: list[AnyMessage] = [SystemMessage("Summary.", id="s", additional_kwargs=extra), human()]
    assert METER.ratio(history) == 1.4
    history.append(Provider(1.2).answer(history, AIMessage("Done.")))
    assert METER.ratio(history) == 1.4


def test_an_interrupted_call_weighs_with_the_result_that_is_put_in_for_it() -> None:
    asked = AIMessage("", tool_calls=[call("c1"), call("c2")])
    running = [human(), asked, result(call("c1"), "ok")]
    assert METER.weights(running)[1] == count_message(asked)
    assert 15 <= METER.weights([*running, human("Go on.")])[1] - count_message(asked) <= 60


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories(), st.integers(0, 30))
def test_any_history_can_be_weighed(history: list[AnyMessage], pruned: int) -> None:
    measured: list[AnyMessage] = []
    for message in history:
        measured.append(Provider(1.2, 8).answer(measured, message) if isinstance(message, AIMessage) else message)
    weights = METER.weights(measured, f"m{pruned}")
    assert len(weights) == len(measured)
    assert all(weight >= 0 for weight in weights)
    assert METER.occupancy(measured, f"m{pruned}")["tokens"] >= 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories())
def test_occupancy_of_any_history_is_near_what_the_provider_counts(history: list[AnyMessage]) -> None:
    provider = Provider(fixed=100)
    measured: list[AnyMessage] = []
    for message in history:
        measured.append(provider.answer(measured, message) if isinstance(message, AIMessage) else message)
    later = [*measured, HumanMessage("Go on.", id="last")]
    calls = sum(len(calls_of(message)) for message in later)
    assert METER.occupancy(later)["tokens"] == pytest.approx(provider.request(later), rel=0.05, abs=30 + 40 * calls)


def test_numbers_are_the_same_in_a_second_process(vocabulary: Path) -> None:
    history = thread(Provider(1.25, 12), 10)
    copy = [message.model_copy(deep=True) for message in history]
    assert METER.weights(copy) == METER.weights(history)
    assert METER.occupancy(numbered(copy)) == METER.occupancy(numbered(history))
