"""Where a compaction cuts: by tokens and between groups, every message summarised or kept, exactly once."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, ask_async, ask_sync, history, thread
from compactions import Graph, agent, looks, small, sources, values, words, worker
from histories import IMAGE, THOUGHT, call, numbered, result
from longthread.graph import ScriptedChatModel
from longthread.graph.scripted import say
from longthread.tools.tokens import count_message
from validity import assert_valid

Saver = BaseCheckpointSaver[Any]
OLD: list[AnyMessage] = [HumanMessage(f"first words {words(90)}"), AIMessage(words(150)), HumanMessage("go on")]
"""What is summarised."""


def asked(*ids: str) -> AIMessage:
    return AIMessage("I look.", tool_calls=[call(id, "look", tokens=1) for id in ids])


def compacted(saver: Saver, *messages: AnyMessage, ask: Ask = ask_sync, by: ScriptedChatModel | None = None) -> Graph:
    """A thread that begins with this history and is compacted before anything else."""
    graph = agent(["done"] * 5, small(), by, checkpointer=saver)
    ask(graph, {"messages": numbered([*OLD, *messages]), "compact_request": ""})
    return graph


def tail(graph: Graph) -> list[AnyMessage]:
    """What stands behind the graph's own messages, without the answer that came after."""
    own = [n for n, m in enumerate(history(graph)) if m.additional_kwargs.get("source")]
    return history(graph)[own[-1] + 1 :]


@pytest.mark.parametrize("second", [20, 190])
def test_a_group_is_kept_as_a_whole_where_the_cut_would_fall_between_its_results(saver: Saver, second: int) -> None:
    results = [result(call("c1", "look"), words(300)), result(call("c2", "look"), words(second))]
    found = tail(compacted(saver, asked("c1", "c2"), *results))
    assert [m.id for m in found] == ["m3", "m4", "m5"]


def test_a_group_that_does_not_fit_beside_a_newer_one_is_summarised_as_a_whole(saver: Saver) -> None:
    results = [result(call("c1", "look"), words(150), error=True), result(call("c2", "look"), words(20))]
    by = worker()
    found = tail(compacted(saver, asked("c1", "c2"), *results, HumanMessage(words(170)), by=by))
    assert [m.id for m in found[:1]] == ["m6"]
    assert by.requests[0][1].text.count("<result>") == 2


BROKEN: dict[str, list[AnyMessage]] = {
    "out of order": [asked("c1", "c2"), result(call("c2"), "two"), result(call("c1"), "one")],
    "a user between two results": [
        asked("c1", "c2"),
        result(call("c1"), "one"),
        HumanMessage("wait"),
        result(call("c2"), "two"),
    ],
    "a call without result": [asked("c1", "c2"), result(call("c1"), "one"), HumanMessage("well?")],
    "a result without call": [result(call("c9"), "whose?"), AIMessage("hm"), HumanMessage("well?")],
    "an id used again": [asked("c1"), result(call("c1"), "one"), asked("c1"), result(call("c1"), "two")],
    "two results of one call": [asked("c1"), result(call("c1"), "one"), result(call("c1"), "again")],
    "an empty answer": [AIMessage(""), HumanMessage("")],
    "an image alone": [HumanMessage([IMAGE])],
    "blocks": [AIMessage([THOUGHT, {"type": "text", "text": "so"}]), HumanMessage("well?")],
}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("name", BROKEN)
def test_whatever_is_wrong_in_a_history_every_request_is_valid(ask: Ask, saver: Saver, name: str, times: int) -> None:
    model, by = ScriptedChatModel([*looks(1, 100), "done"] * 9), worker()
    graph = agent(model, small(), by, checkpointer=saver)
    broken = numbered([*OLD, *BROKEN[name] * times, HumanMessage(words(60)), *BROKEN[name]])
    ask(graph, {"messages": broken, "compact_request": ""})
    ask(graph, {"messages": [("user", words(180))], "compact_request": ""})
    assert len(values(graph)["segments"]) == 2
    for request in [*model.requests, *by.requests]:
        assert_valid(request)


def test_a_newest_group_larger_than_the_tail_is_shortened_with_the_way_to_the_rest(ask: Ask, saver: Saver) -> None:
    graph = agent([*looks(1, 5_000), "done"], small(compact_request_threshold=900), checkpointer=saver)
    ask(graph, "look, and never edit X")
    _, shortened = tail(graph)[:2]
    assert isinstance(shortened, ToolMessage)
    assert "call the tool again for the rest" in shortened.text
    assert 100 < count_message(shortened) <= 200
    assert "look, and never edit X" in history(graph)[0].text


def test_a_single_user_message_and_forty_loops_are_cut_inside_the_turn(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([*looks(40, 50), "done"])
    graph = agent(model, small(compact_request_threshold=900), checkpointer=saver)
    ask(graph, {"messages": [("user", "count them, word for word")]})
    assert len(values(graph)["segments"]) >= 2
    assert "```\ncount them, word for word\n```" in history(graph)[0].text
    for request in model.requests:
        assert "count them, word for word" in str([m.content for m in request])


def usage(tokens: int) -> Any:
    return {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}


def test_the_tail_goes_by_weights_and_not_by_records_which_pruning_makes_smaller(saver: Saver) -> None:
    def kept(*records: int | None) -> list[str | None]:
        turns = [(HumanMessage(words(40)), say(words(40), usage=usage(n) if n else None)) for n in records]
        graph = agent([], small(), checkpointer=saver)
        given = {"messages": numbered([*OLD, *(message for turn in turns for message in turn)]), "compact_request": ""}
        ask_sync(graph, given, thread(str(records)))
        return [m.id for m in history(graph, thread(str(records))) if not m.additional_kwargs.get("source")]

    assert kept(None, None, None, 900, 400, 950) == kept(*[None] * 6)


def test_over_two_compactions_every_message_is_summarised_or_kept_exactly_once(saver: Saver) -> None:
    steps = [say(f"a{n} {words(60)}") for n in range(12)]
    graph = agent(steps, small(), by := worker(), checkpointer=saver)
    for n in range(6):
        ask_sync(graph, f"u{n} {words(30)}")
    ask_sync(graph, {"compact_request": ""})
    for n in range(6, 12):
        ask_async(graph, f"u{n} {words(30)}")
    ask_sync(graph, {"compact_request": ""})
    openings = [request[1].text for request in by.requests]
    assert len(openings) == 2
    kept = "\n".join(m.text for m in tail(graph))
    for name in [f"{who}{n} " for who in "ua" for n in range(12)]:
        seen = [opening.count(f">{name}") for opening in openings]
        assert sum(seen) + (name in kept) == 1, (name, seen)
    assert openings[1].count("<previous_summary>") == 1


def test_system_messages_of_the_users_at_the_head_stay_there_word_for_word(ask: Ask, saver: Saver) -> None:
    head = [SystemMessage("House rules.", id="h1"), SystemMessage(words(60), id="h2")]
    graph = agent([words(100), words(100), words(100), "done"], small(compact_threshold=600), checkpointer=saver)
    ask(graph, {"messages": [*head, HumanMessage("one")]})
    for text in ("two", "three", "four"):
        ask(graph, text)
    assert len(values(graph)["segments"]) >= 1
    assert history(graph)[:2] == head
    assert sources(history(graph)).index("compaction_summary") == 2
    assert sources(history(graph)).count("compaction_summary") == 1
