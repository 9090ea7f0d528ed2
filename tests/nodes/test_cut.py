"""Where a compaction cuts, and what the kept tail looks like."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from compactions import words
from histories import IMAGE, THOUGHT, call, histories, numbered, result
from longthread.nodes.history.cut import Cut, find_cut, fit_tail, summary_only
from longthread.nodes.history.groups import groups
from longthread.nodes.history.repair import repair
from longthread.tools.results import text_of
from longthread.tools.tokens import count_message
from validity import assert_valid


def tokens(messages: list[AnyMessage]) -> int:
    return sum(map(count_message, messages))


def fitted(messages: list[AnyMessage], budget: int) -> list[AnyMessage]:
    return fit_tail(messages, budget, tokens(messages))


def two_results(first: int, second: int) -> list[AnyMessage]:
    calls = [call("c1"), call("c2")]
    results = [result(calls[0], words(first)), result(calls[1], words(second))]
    return numbered([HumanMessage("go"), AIMessage("", tool_calls=calls), *results])


def test_a_cut_that_would_fall_between_two_results_keeps_the_whole_group() -> None:
    assert find_cut(two_results(300, 20), [4, 10, 300, 20], head=0, retained=200) == Cut(0, 1)


def test_the_newest_group_is_kept_whatever_it_weighs() -> None:
    messages = numbered([HumanMessage("a"), AIMessage("b"), HumanMessage("c")])
    assert find_cut(messages, [1, 1, 5_000], head=0, retained=200) == Cut(0, 2)


def test_as_many_whole_groups_as_fit_are_kept_from_the_end() -> None:
    messages = numbered([HumanMessage(str(n)) for n in range(10)])
    assert find_cut(messages, [50] * 10, head=0, retained=200) == Cut(0, 6)
    assert find_cut(messages, [50] * 10, head=0, retained=199) == Cut(0, 7)


def test_the_cut_never_goes_into_the_head() -> None:
    messages = numbered([HumanMessage(str(n)) for n in range(4)])
    assert find_cut(messages, [1] * 4, head=2, retained=200) == Cut(2, 2)


@settings(max_examples=100, deadline=None)
@given(histories(), st.integers(1, 3_000))
def test_no_group_is_ever_split(history: list[AnyMessage], retained: int) -> None:
    messages = repair(history)
    cut = find_cut(messages, [count_message(m) for m in messages], 0, retained)
    assert cut.start in [*(group.start for group in groups(messages)), len(messages)]


def test_results_that_were_answered_stand_by_their_summary_and_those_that_were_not_in_full() -> None:
    calls = [call("c1"), call("c2")]
    messages = numbered(
        [
            AIMessage("", tool_calls=calls[:1]),
            result(calls[0], words(300)),
            AIMessage("", tool_calls=calls[1:]),
            result(calls[1], words(300)),
        ]
    )
    shown = summary_only(messages)
    assert "cleared" in shown[1].additional_kwargs
    assert shown[3] is messages[3]


def test_a_message_that_a_tool_added_does_not_answer_the_results_before_it() -> None:
    added = AIMessage("from a tool", additional_kwargs={"source": "tool"})
    messages = numbered([AIMessage("", tool_calls=[call("c1")]), result(call("c1"), words(300)), added])
    assert summary_only(messages)[1] is messages[1]


def test_a_tail_within_its_budget_stays_as_it_is() -> None:
    messages = two_results(30, 20)
    assert fitted(messages, 1_000) == messages


def test_what_counts_is_the_weight_that_was_measured_and_not_the_local_count() -> None:
    messages = two_results(300, 300)
    assert fit_tail(messages, 200, weight=200) == messages
    assert tokens(fit_tail(messages, 200, weight=2 * tokens(messages))) <= 110


def test_the_largest_messages_are_shortened_to_the_same_size_and_say_so() -> None:
    _, asked, first, second = fitted(two_results(2_000, 20), 200)
    assert "characters left out; cut when the context was compacted; call the tool again for the rest" in first.text
    assert second.text == words(20)
    assert tokens([asked, first, second]) <= 200
    assert first.additional_kwargs["shortened"] is True


@settings(max_examples=100, deadline=None)
@given(histories(), st.integers(0, 3_000))
def test_a_shortened_tail_is_valid_has_every_message_and_is_within_its_budget(
    history: list[AnyMessage], budget: int
) -> None:
    messages = repair(history)
    tail = fitted(messages, budget)
    assert_valid(tail)
    assert [m.id for m in tail] == [m.id for m in messages]
    arguments = sum(len(c["args"]) for m in messages if isinstance(m, AIMessage) for c in m.tool_calls)
    assert tokens(tail) <= max(budget, 45 * (len(messages) + arguments))


def test_long_arguments_of_a_call_are_cut_and_short_ones_stay() -> None:
    wrote = call("c1", "write_file", path="a.py", content=words(2_000), mode=7)
    messages = numbered([AIMessage("I write.", tool_calls=[wrote]), result(wrote, "wrote a.py")])
    [asked, _] = fitted(messages, 200)
    assert isinstance(asked, AIMessage)
    [shown] = asked.tool_calls
    assert (shown["args"]["path"], shown["args"]["mode"], asked.content) == ("a.py", 7, "I write.")
    assert "cut when the context was compacted" in shown["args"]["content"]
    assert count_message(asked) <= 200


def test_an_answer_of_blocks_is_shortened_to_its_text() -> None:
    blocks: list[Any] = [THOUGHT, {"type": "text", "text": words(2_000)}, {"type": "tool_use", "id": "c1"}]
    messages = numbered([AIMessage(blocks, tool_calls=[call("c1")]), result(call("c1"), "ok")])
    tail = fitted(messages, 200)
    assert isinstance(tail[0].content, str)
    assert_valid(tail)


def test_an_image_that_does_not_fit_is_named() -> None:
    messages = numbered([HumanMessage([IMAGE, {"type": "text", "text": "what is this?"}])])
    assert fitted(messages, 200)[0].text == "[image]\nwhat is this?"


def test_stamps_of_requests_go_since_their_positions_are_no_more() -> None:
    messages = numbered([AIMessage("a", additional_kwargs={"request": {"n": 0, "first": None}, "other": 1})])
    assert fitted(messages, 1_000)[0].additional_kwargs == {"other": 1}


@pytest.mark.parametrize("budget", [0, 1, 39])
def test_no_message_is_ever_left_out_or_emptied(budget: int) -> None:
    tail = fitted(two_results(500, 500), budget)
    assert [m.id for m in tail] == ["m0", "m1", "m2", "m3"]
    assert all(text_of(m).startswith("wor") for m in tail if isinstance(m, ToolMessage))
