"""When a compaction begins: the two thresholds, alone and together, and the user's own wish."""

import warnings
from typing import Any

import pytest

from agents import Ask, ask_async, ask_sync, history, thread
from compactions import (
    SUMMARY,
    Graph,
    agent,
    async_events,
    events,
    look,
    looks,
    names,
    small,
    sources,
    values,
    words,
    worker,
)
from longthread.graph import CompactionConfig, ScriptedChatModel, build_agent, create_agent
from longthread.graph.scripted import scripted_tokens
from longthread.nodes.history.prune import CLEARED
from longthread.tools.errors import SettingsError

BOTH = {"compact_threshold": 800, "compact_request_threshold": 900}
TURN = [*looks(2, 150), "first", *looks(2, 150), "second", *looks(2, 150), "third"]
"""Three turns of about 330 tokens each."""


def triggers(graph: Graph, *texts: str) -> list[str]:
    """What the compactions of these turns were asked by."""
    found = [event for text in texts for event in events(graph, text)]
    return [event["trigger"] for event in found if event["event"] == "compact_done"]


def three_turns(saver: Any, **thresholds: Any) -> list[str]:
    return triggers(agent(TURN, small(**thresholds), checkpointer=saver), "one", "two", "three")


def test_between_turns_the_smaller_threshold_compacts_after_the_answer(saver: Any) -> None:
    assert set(three_turns(saver, compact_threshold=600)) == {"compact_threshold"}


def test_between_requests_the_larger_threshold_compacts_inside_the_turn(saver: Any) -> None:
    graph = agent([*looks(8, 150), "done"], small(**BOTH), checkpointer=saver)
    found = events(graph, "go")
    assert {e["trigger"] for e in found if e["event"] == "compact_done"} == {"compact_request_threshold"}
    assert history(graph)[-1].content == "done"


@pytest.mark.parametrize("name", ["compact_threshold", "compact_request_threshold"])
def test_each_threshold_works_alone(saver: Any, name: str) -> None:
    assert set(three_turns(saver, **{name: 600})) == {name}


def test_without_thresholds_nothing_is_compacted_by_count(saver: Any) -> None:
    assert three_turns(saver) == []


def test_without_compaction_there_is_no_such_node() -> None:
    bare, full = build_agent(ScriptedChatModel([]), compaction=None), build_agent(ScriptedChatModel([]))
    assert ("compact" in bare.nodes, "compact" in full.nodes) == (False, True)


def test_a_reversed_order_warns_and_works(saver: Any) -> None:
    with pytest.warns(UserWarning, match="compact_threshold=900 is above compact_request_threshold=700"):
        graph = agent(TURN, small(compact_threshold=900, compact_request_threshold=700), checkpointer=saver)
    assert set(triggers(graph, "one", "two", "three")) == {"compact_request_threshold"}


def test_equal_thresholds_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent([], small(compact_threshold=800, compact_request_threshold=800))


@pytest.mark.parametrize("threshold", ["compact_threshold", "compact_request_threshold"])
def test_budgets_that_do_not_fit_below_a_threshold_are_an_error_that_names_the_numbers(threshold: str) -> None:
    config = small(**{**BOTH, threshold: 550})
    with pytest.raises(SettingsError) as error:
        agent([], config)
    for part in ("=200 ", "=100 ", "=150 ", "=100 = 550", "is not below the smallest threshold 550", "raise the"):
        assert part in str(error.value)
    agent([], small(**{threshold: 551}))


@pytest.mark.parametrize("tokens", [4_000, 4_001, 7_777, 8_000, 16_385, 32_768, 80_000, 128_000, 200_000, 1_000_000])
def test_every_window_gets_settings_that_work(tokens: int) -> None:
    config = CompactionConfig.for_context_window(tokens)
    assert config.compact_threshold == tokens * 75 // 100
    assert config.compact_request_threshold == tokens * 90 // 100
    assert config.kept_at_most <= 0.3 * tokens
    config.check()


def test_above_a_size_the_budgets_stay_at_their_defaults() -> None:
    defaults = CompactionConfig().model_dump(exclude={"compact_threshold", "compact_request_threshold"})
    largest = CompactionConfig.for_context_window(1_000_000).model_dump()
    assert {name: largest[name] for name in defaults} == defaults


@pytest.mark.parametrize("tokens", [-1, 0, 3_999])
def test_a_window_that_is_too_small_is_an_error(tokens: int) -> None:
    with pytest.raises(SettingsError, match="at least 4000"):
        CompactionConfig.for_context_window(tokens)


@pytest.mark.parametrize(("profile", "compacted"), [({"max_input_tokens": 4_000}, 1), (None, 0)])
def test_auto_follows_the_window_that_the_model_names(saver: Any, profile: Any, compacted: int) -> None:
    model = ScriptedChatModel([*looks(11, 300), "done"], profile=profile)
    graph = agent(model, "auto", never_pruned=["look"], checkpointer=saver)
    assert len([e for e in events(graph, "go") if e["event"] == "compact_done"]) == compacted


def test_a_value_of_another_kind_is_an_error() -> None:
    with pytest.raises(SettingsError, match="neither a CompactionConfig nor 'auto' nor None"):
        create_agent(ScriptedChatModel([]), compaction={"compact_threshold": 1})  # type: ignore[arg-type]  # the point


def test_a_model_that_never_reports_usage_is_compacted_too(saver: Any) -> None:
    model = ScriptedChatModel([*looks(8, 150), "done"], usage=False)
    graph = agent(model, small(**BOTH), checkpointer=saver)
    given = {"messages": [("user", "go")]}
    found = [data for _, data in graph.stream(given, thread(), stream_mode=["messages", "custom"])]
    assert "compact_done" in names([event for event in found if isinstance(event, dict)])


def test_another_model_with_a_smaller_window_is_checked_before_its_first_request(ask: Ask, saver: Any) -> None:
    large = ScriptedChatModel([*looks(6, 150), "first"], model_name="large")
    ask(agent(large, small(compact_request_threshold=5_000), checkpointer=saver), "go")
    other = ScriptedChatModel(["second"], model_name="other")
    graph = agent(other, small(compact_request_threshold=900), checkpointer=saver)
    ask(graph, "go on")
    assert values(graph)["segments"][0]["trigger"] == "compact_request_threshold"
    assert scripted_tokens(other.requests[0]) + 230 < 900


# The user's own wish


def asked(ask: Ask, saver: Any, by: ScriptedChatModel, **given: Any) -> Graph:
    """A thread of one turn, and then a wish to compact."""
    graph = agent([*looks(3, 150), "first", "second"], small(), by, checkpointer=saver)
    ask(graph, "go")
    ask(graph, {**given})
    return graph


def test_a_wish_compacts_and_ends_without_a_request_of_the_model(ask: Ask, saver: Any) -> None:
    by = worker()
    graph = asked(ask, saver, by, compact_request="")
    assert sources(history(graph))[0] == "compaction_summary"
    assert history(graph)[-1].content == "first"
    assert values(graph)["compact_request"] is None
    assert values(graph)["segments"][0]["trigger"] == "user"
    assert "<users_request" not in by.requests[0][1].text


def test_its_text_is_told_to_the_worker_as_data(ask: Ask, saver: Any) -> None:
    by = worker()
    asked(ask, saver, by, compact_request="keep </users_request_for_this_summary> the numbers")
    opening = by.requests[0][1].text
    assert "<users_request_for_this_summary>\nkeep &lt;/users_request_for_this_summary&gt; the numbers\n</" in opening


def test_with_a_message_beside_it_the_thread_is_compacted_and_then_answered(ask: Ask, saver: Any) -> None:
    graph = asked(ask, saver, worker(), compact_request="", messages=[("user", "and now?")])
    found = history(graph)
    assert sources(found)[0] == "compaction_summary"
    assert [m.content for m in found[-3:]] == ["first", "and now?", "second"]


def test_on_an_empty_thread_there_is_nothing_to_do(ask: Ask, saver: Any) -> None:
    graph = agent([], small(), by := worker(), checkpointer=saver)
    ask(graph, {"messages": [], "compact_request": ""})
    assert (by.calls, values(graph)["compaction"]["outcome"], values(graph)["compact_request"]) == (0, "nothing", None)


def test_a_second_wish_right_after_the_first_finds_nothing_to_do(saver: Any) -> None:
    by = worker()
    graph = asked(ask_sync, saver, by, compact_request="")
    before, made = history(graph), by.calls
    [skipped] = events(graph, {"compact_request": ""})
    assert (skipped["event"], skipped["outcome"]) == ("compact_skipped", "nothing")
    assert (history(graph), by.calls) == (before, made)


def test_a_wish_that_fails_is_gone_and_the_message_beside_it_is_answered(ask: Ask, saver: Any) -> None:
    graph = asked(ask, saver, worker(ValueError("no")), compact_request="", messages=[("user", "and now?")])
    assert values(graph)["compaction"]["outcome"] == "failed"
    assert values(graph)["compact_request"] is None
    assert history(graph)[-1].content == "second"


def test_a_long_wish_is_cut(saver: Any) -> None:
    by = worker()
    asked(ask_sync, saver, by, compact_request=words(20_000))
    assert len(by.requests[0][1].text) < 8_000


def test_without_compaction_a_wish_alone_makes_no_request(ask: Ask, saver: Any) -> None:
    model = ScriptedChatModel(["first", "second"])
    graph = agent(model, None, checkpointer=saver)
    ask(graph, "go")
    ask(graph, {"compact_request": ""})
    assert model.calls == 1
    ask(graph, "and now?")
    assert history(graph)[-1].content == "second"
    assert values(graph)["compact_request"] is None


def test_without_compaction_a_message_beside_a_wish_is_answered(ask: Ask, saver: Any) -> None:
    graph = agent(["first"], None, checkpointer=saver)
    assert ask(graph, {"messages": [("user", "go")], "compact_request": ""})["messages"][-1].content == "first"


def test_a_wish_over_an_unfinished_turn_leaves_a_sound_history(ask: Ask, saver: Any) -> None:
    model = ScriptedChatModel([*looks(3, 150), ValueError("gone"), "second"])
    graph = agent(model, small(), checkpointer=saver)
    with pytest.raises(ValueError, match="gone"):
        ask(graph, "go")
    ask(graph, {"compact_request": ""})
    assert sources(history(graph))[0] == "compaction_summary"
    assert graph.get_state(thread()).tasks == ()
    assert ask(graph, "go on")["messages"][-1].content == "second"


# proactive="before_next_turn"


def test_moved_to_the_next_turn_the_proactive_check_leaves_the_caller_no_waiting(ask: Ask, saver: Any) -> None:
    by, model = worker(), ScriptedChatModel([*looks(4, 150), "first", "second"])
    graph = agent(model, small(compact_threshold=600, proactive="before_next_turn"), by, checkpointer=saver)
    ask(graph, "go")
    assert by.calls == 0
    ask(graph, "and now?")
    found = history(graph)
    assert sources(found)[0] == "compaction_summary"
    assert [m.content for m in found[-2:]] == ["and now?", "second"]
    assert values(graph)["segments"][0]["trigger"] == "compact_threshold"
    assert SUMMARY in model.requests[-1][0].text


def test_a_failure_there_does_not_keep_the_turn_from_its_answer(saver: Any) -> None:
    config = small(compact_threshold=600, proactive="before_next_turn")
    graph = agent([*looks(4, 150), "first", "second"], config, worker(ValueError("no")), checkpointer=saver)
    events(graph, "go")
    assert names(async_events(graph, "and now?")) == ["compact_start", "compact_failed"]
    assert history(graph)[-1].content == "second"


def test_what_is_pruned_does_not_lead_to_a_compaction(saver: Any) -> None:
    config = small(compact_request_threshold=900, prune_protected_tokens=200, prune_min_savings=100)
    graph = agent([*looks(6, 150), "done"], config, by := worker(), checkpointer=saver)
    assert "pruned" in [event["event"] for event in events(graph, "go")]
    assert by.calls == 0
    assert not any(m.additional_kwargs.get(CLEARED) for m in history(graph))


def test_a_compaction_runs_without_a_saver(ask: Ask) -> None:
    graph = create_agent(
        ScriptedChatModel([*looks(4, 150), "first"]), [look], compaction=small(**BOTH), worker_model=worker()
    )
    assert sources(ask(graph, "go")["messages"])[0] == "compaction_summary"


def test_the_second_compaction_in_a_row_takes_the_first_summary_as_a_summary_once(saver: Any) -> None:
    by = worker()
    graph = agent([*looks(4, 150), "first", *looks(4, 150), "second"], small(), by, checkpointer=saver)
    for given in ("go", {"compact_request": ""}, "go on", {"compact_request": ""}):
        ask_async(graph, given)
    opening = by.requests[-1][1].text
    assert opening.count("<previous_summary>\n" + SUMMARY) == 1
    assert opening.count("nothing of note") == SUMMARY.count("nothing of note")
    assert "compaction_summary" not in opening
    assert [segment["number"] for segment in values(graph)["segments"]] == [1, 2]
    assert sources(history(graph)).count("compaction_summary") == 1
