"""What must never be split."""

from hypothesis import given, settings
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from histories import call, histories, result, sound_groups
from longthread.nodes.history.groups import Slot, groups, match_results
from longthread.nodes.history.repair import repair

C1, C2 = call("c1"), call("c2")
USER = HumanMessage("and now?")


@settings(max_examples=100, deadline=None)
@given(histories())
def test_groups_cover_any_history_without_gap_or_overlap(history: list[AnyMessage]) -> None:
    found = groups(history)
    assert all(found)
    assert [index for group in found for index in group] == list(range(len(history)))


@settings(max_examples=100, deadline=None)
@given(histories())
def test_no_result_is_in_another_group_than_its_call(history: list[AnyMessage]) -> None:
    group_of = {index: n for n, group in enumerate(groups(history)) for index in group}
    assert all(group_of[slot.message] == group_of[index] for slot, index in match_results(history).items())


@settings(max_examples=50, deadline=None)
@given(sound_groups())
def test_groups_of_a_sound_history_are_its_groups(grouped: list[list[AnyMessage]]) -> None:
    history = [message for group in grouped for message in group]
    assert [len(group) for group in groups(history)] == [len(group) for group in grouped]


@settings(max_examples=100, deadline=None)
@given(histories())
def test_groups_of_a_repaired_history_reach_over_nothing_foreign(history: list[AnyMessage]) -> None:
    repaired = repair(history)
    for group in groups(repaired):
        assert all(isinstance(repaired[index], ToolMessage) for index in group[1:])


def test_a_call_and_its_two_results_are_one_group() -> None:
    history = [USER, AIMessage("", tool_calls=[C1, C2]), result(C2, "b"), result(C1, "a"), USER]
    assert groups(history) == [range(0, 1), range(1, 4), range(4, 5)]


def test_a_group_reaches_to_its_late_result() -> None:
    history = [AIMessage("", tool_calls=[C1]), USER, AIMessage("", tool_calls=[C2]), result(C1, "a"), result(C2, "b")]
    assert groups([*history, USER]) == [range(0, 5), range(5, 6)]


def test_a_group_reaches_over_a_stored_stand_in() -> None:
    stored = repair([AIMessage("", tool_calls=[C1, C2]), result(C1, "a")])
    assert groups([*stored, USER]) == [range(0, 3), range(3, 4)]


def test_a_result_belongs_to_the_nearest_call_without_one() -> None:
    asking = AIMessage("", tool_calls=[C1])
    history = [asking, USER, asking, result(C1, "b"), result(C1, "a"), result(C1, "nobody's")]
    assert match_results(history) == {Slot(2, 0): 3, Slot(0, 0): 4}


def test_no_messages_are_no_groups() -> None:
    assert groups([]) == []
