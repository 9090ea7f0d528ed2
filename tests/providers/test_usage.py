"""Usage as each house reports it, through its real package, in one form: a record's input is the whole input."""

from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agents import Graph, history, thread
from house_server import Said, Spent
from houses import Home, look
from longthread.graph import create_agent
from longthread.nodes.history.records import Record, measured

Run = Callable[[Graph, Any], dict[str, Any]]
FIRST = Spent(fresh=1_000, read=0, written=900, output=80, reasoning=50)
SECOND = Spent(fresh=120, read=1_900, written=100, output=30)


def two_requests(home: Home, run: Run) -> tuple[Graph, list[Record]]:
    home.server.answer(
        Said("I look.", calls=(("look", {"at": "one"}),), thinking="Hm.", spent=FIRST), Said("Done.", spent=SECOND)
    )
    graph = create_agent(home.model, [look], checkpointer=InMemorySaver())
    run(graph, "go")
    return graph, measured(history(graph))


def test_input_is_the_whole_input_whatever_of_it_was_cached(home: Home, run: Run) -> None:
    _, records = two_requests(home, run)
    assert [record.input for record in records] == [1_900, 2_120]
    assert [record.cache_read for record in records] == [0, 1_900]
    assert [record.cache_write for record in records] == ([900, 100] if home.name == "anthropic" else [0, 0])


def test_reasoning_is_told_apart_from_the_answer(home: Home, run: Run) -> None:
    _, records = two_requests(home, run)
    assert [(record.reasoning, record.output) for record in records] == [(50, 30), (0, 30)]


def test_occupancy_is_what_was_measured(home: Home, run: Run) -> None:
    """The record counts: the name of the model that answered is taken for that of the model asked for."""
    graph, _ = two_requests(home, run)
    occupancy = graph.get_state(thread()).values["occupancy"]
    assert occupancy == {"tokens": 2_120 + 30, "source": "measured"}
