"""The reducers: idempotent, the same however writes are batched, and nothing changed in place."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from longthread.nodes.state import last_value, merge_messages, replace_segments
from longthread.tools.todo import replace_todos
from longthread.tools.tracker import merge_records

Reducer = Callable[[Any, Sequence[Any]], Any]
IDS = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.sampled_from(["one", "two"])


def summary(*through: str) -> SystemMessage:
    segment = {"through": list(through)}
    return SystemMessage("so far", id="s", additional_kwargs={"source": "compaction_summary", "segment": segment})


spoken: Any = st.one_of(
    st.tuples(TEXTS, IDS).map(lambda drawn: HumanMessage(drawn[0], id=drawn[1])),
    st.tuples(TEXTS, IDS).map(lambda drawn: AIMessage(drawn[0], id=drawn[1])),
)
removal: Any = st.one_of(IDS.map(lambda drawn: RemoveMessage(drawn)), st.just(RemoveMessage(REMOVE_ALL_MESSAGES)))
anything: Any = st.one_of(
    spoken, removal, IDS.map(summary), TEXTS.map(HumanMessage), TEXTS, st.tuples(st.just("user"), TEXTS)
)
record: Any = st.fixed_dictionaries({"path": IDS, "hash": TEXTS, "call": TEXTS, "known": st.booleans()})
item: Any = st.fixed_dictionaries({"content": TEXTS, "status": st.just("pending")}, optional={"id": IDS})
segment: Any = st.fixed_dictionaries({"number": st.integers(1, 4), "kept": st.integers(0, 9)})


def writes(part: Any) -> Any:
    return st.lists(st.one_of(st.none(), st.lists(part, max_size=4)), max_size=5)


REDUCERS: dict[str, tuple[Reducer, Any]] = {
    "messages": (merge_messages, writes(anything)),
    "todos": (replace_todos, writes(item)),
    "tracker": (merge_records, writes(record)),
    "segments": (replace_segments, writes(segment)),
}
each_reducer = pytest.mark.parametrize("name", REDUCERS)


@each_reducer
@settings(max_examples=80)
@given(data=st.data())
def test_how_writes_are_batched_makes_no_difference(name: str, data: st.DataObject) -> None:
    reduce, strategy = REDUCERS[name]
    before, after = data.draw(strategy), data.draw(strategy)
    start = reduce(None, data.draw(strategy))
    assert reduce(reduce(start, before), after) == reduce(start, [*before, *after])


@each_reducer
@settings(max_examples=80)
@given(data=st.data())
def test_nothing_is_changed_in_place_and_the_result_is_a_list_of_its_own(name: str, data: st.DataObject) -> None:
    reduce, strategy = REDUCERS[name]
    state, given_writes = reduce(None, data.draw(strategy)), data.draw(strategy)
    copies = deepcopy((state, given_writes))
    result = reduce(state, given_writes)
    result.append("mine")
    assert (state, given_writes) == copies


@pytest.mark.parametrize(
    ("reduce", "strategy"),
    [(merge_messages, writes(spoken)), (merge_messages, writes(removal)), *list(REDUCERS.values())[1:]],
    ids=["messages", "removals", "todos", "tracker", "segments"],
)
@settings(max_examples=80)
@given(data=st.data())
def test_a_write_that_arrives_twice_changes_nothing(reduce: Reducer, strategy: Any, data: st.DataObject) -> None:
    state, write = reduce(None, data.draw(strategy)), data.draw(strategy.filter(bool))[0]
    once = reduce(state, [write])
    assert reduce(once, [write]) == once
    assert reduce(state, [write, write]) == once


@settings(max_examples=80)
@given(writes(anything))
def test_every_message_gets_an_id_of_its_own_and_the_same_one_in_a_replay(given_writes: Any) -> None:
    found = merge_messages([], given_writes)
    ids = [message.id for message in found]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert [message.id for message in merge_messages([], given_writes)] == ids


@settings(max_examples=80)
@given(writes(spoken), st.lists(spoken, max_size=5), IDS)
def test_a_conversation_that_is_handed_in_again_twice_is_taken_in_once(before: Any, again: Any, newest: str) -> None:
    state = merge_messages([summary(newest)], before)
    once = merge_messages(state, [again])
    assert merge_messages(once, [again]) == once


def test_a_message_of_a_known_id_replaces_the_one_there_where_it_stands() -> None:
    state: list[AnyMessage] = [HumanMessage("1", id="a"), AIMessage("2", id="b")]
    assert merge_messages(state, [[HumanMessage("3", id="a")]]) == [HumanMessage("3", id="a"), state[1]]


def test_a_message_without_an_id_never_replaces_another() -> None:
    state: list[AnyMessage] = [HumanMessage("as it came")]
    assert [m.content for m in merge_messages(state, [["new"], ["newer"]])] == ["as it came", "new", "newer"]


def test_messages_are_taken_in_every_form_that_langchain_knows() -> None:
    forms = ["a", ("user", "b"), {"role": "user", "content": "c"}, HumanMessage("d")]
    assert [m.content for m in merge_messages(None, [*forms, forms])] == ["a", "b", "c", "d"] * 2


def test_a_pair_of_role_and_text_is_one_message_also_after_it_was_stored() -> None:
    assert merge_messages(None, [("user", "go")]) == merge_messages(None, [["user", "go"]])
    assert [m.content for m in merge_messages(None, [["user", "go"], ["one", "two"]])] == ["go", "one", "two"]


def test_of_a_conversation_handed_in_again_what_a_summary_stands_for_stays_out() -> None:
    old: list[AnyMessage] = [HumanMessage("1", id="a"), AIMessage("2", id="b"), HumanMessage("3", id="c")]
    state: list[AnyMessage] = [summary("a", "b"), old[2]]
    again = merge_messages(state, [[*old, AIMessage("4", id="d")]])
    assert [message.id for message in again] == ["s", "c", "d"]


def test_one_message_that_a_summary_stands_for_may_be_written_again() -> None:
    assert [m.id for m in merge_messages([summary("a")], [[HumanMessage("1", id="a")]])] == ["s", "a"]


def test_of_two_values_the_last_counts() -> None:
    assert last_value(1, None) is None
    assert last_value(last_value(None, 1), 1) == 1
