"""Anthropic's prompt cache: the marks that make the stable prefix of a request cached."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from agents import Graph, ask_sync, history
from anthropic_wire import every_block, marked
from compacting import CONFIG, SUMMARY
from house_server import Body, Said
from houses import IMAGE, PLAN, Home, look
from longthread.graph import DeferredChatModel, create_agent
from longthread.graph.models import takes_cache_marks

Run = Callable[[Graph, Any], dict[str, Any]]
MARK = {"type": "ephemeral"}


def agent(home: Home, *more: BaseTool, **options: Any) -> Graph:
    settings: dict[str, Any] = {"system_prompt": "Be careful.", "checkpointer": InMemorySaver(), **options}
    return create_agent(home.model, [look, *more], **settings)


def several_turns(home: Home, run: Run, *calls: int) -> list[Body]:
    """The requests of turns with so many parallel calls each, and a plan that is reminded of."""
    for number, count in enumerate(calls):
        wanted = tuple(("look", {"at": f"{number}.{n}"}) for n in range(count))
        home.server.answer(Said("", calls=(*wanted, PLAN)), Said(f"Done {number}."))
    graph = agent(home)
    for number in range(len(calls)):
        run(graph, f"turn {number}" if number else {"messages": [HumanMessage(IMAGE[::-1])]})
    return home.server.requests


def test_tools_system_the_last_requests_end_and_this_ones_are_marked(anthropic: Home, run: Run) -> None:
    first, second, *_ = several_turns(anthropic, run, 2)
    assert [tool["name"] for tool in first["tools"] if "cache_control" in tool] == [first["tools"][-1]["name"]]
    assert first["system"] == [{"type": "text", "text": "Be careful.", "cache_control": MARK}]
    assert (first["cache_control"], second["cache_control"]) == (MARK, MARK)
    assert [len(marked(first)), len(marked(second))] == [3, 4]
    assert "cache_control" in second["messages"][0]["content"][-1]


def wire(body: Body) -> Iterator[str]:
    """The blocks of a request one by one, without the marks, which are no part of what is cached."""
    for block in [*body["tools"], *every_block(body)]:
        yield json.dumps({key: value for key, value in block.items() if key != "cache_control"}, sort_keys=True)


def test_each_request_finds_the_end_of_the_one_before_at_a_mark(anthropic: Home, run_twice: Run) -> None:
    """Though thirty blocks are new in one of them: the server looks back twenty from a mark."""
    requests = several_turns(anthropic, run_twice, 1, 15, 2)
    assert anthropic.server.faults == []
    for before, after in pairwise(requests):
        first, second = list(wire(before)), list(wire(after))
        assert second[: len(first)] == first
        marks = [n for n, block in enumerate([*after["tools"], *every_block(after)]) if "cache_control" in block]
        assert len(first) - 1 in marks


def test_no_mark_is_ever_in_the_state(anthropic: Home, run_twice: Run) -> None:
    several_turns(anthropic, run_twice, 2)
    graph = agent(anthropic)
    anthropic.server.answer(Said("Yes."))
    run_twice(graph, {"messages": [HumanMessage(IMAGE)]})
    assert "cache_control" not in str(history(graph))


def test_marks_of_the_users_own_do_not_add_up(anthropic: Home) -> None:
    own = {"type": "text", "text": "a long text", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    marked_tool = look.model_copy(update={"name": "own", "extras": {"cache_control": MARK}})

    @tool
    def last() -> str:
        """Come after it."""
        return "fine"

    graph = agent(anthropic, marked_tool, last)
    for n in range(3):
        anthropic.server.answer(Said(f"Done {n}."))
        ask_sync(graph, {"messages": [HumanMessage([own])]})
    assert anthropic.server.faults == []
    assert len(marked(anthropic.server.requests[-1])) == 4
    assert "cache_control" in str(history(graph)), "what the user said is not changed"


def test_the_workers_requests_are_marked_too(anthropic: Home, run_twice: Run) -> None:
    anthropic.server.answer(Said("word " * 700), Said("", calls=(("write_summary", {"text": SUMMARY}),)))
    run_twice(agent(anthropic, compaction=CONFIG), "tell me")
    asked = anthropic.server.requests[-1]
    assert [tool["name"] for tool in asked["tools"] if "cache_control" in tool] == ["write_summary"]
    assert asked["cache_control"] == MARK


def test_an_image_at_the_end_is_passed_over(anthropic: Home) -> None:
    """In OpenAI's form it would lose the mark on the way."""
    anthropic.server.answer(Said("", calls=(PLAN,)), Said("Done."))
    ask_sync(agent(anthropic), {"messages": [HumanMessage(IMAGE)]})
    text, image = anthropic.server.requests[-1]["messages"][0]["content"]
    assert ("cache_control" in text, "cache_control" in image) == (True, False)


def test_a_blank_end_is_not_marked(anthropic: Home) -> None:
    @tool
    def silent() -> str:
        """Say nothing."""
        return ""

    anthropic.server.answer(Said("", calls=(("silent", {}),)), Said("", calls=(("silent", {}),)), Said("Done."))
    ask_sync(agent(anthropic, silent), "go")
    assert anthropic.server.faults == []


def test_other_houses_are_sent_no_marks(home: Home, run_twice: Run) -> None:
    home.server.answer(Said("", calls=(PLAN,)), Said("Done."))
    run_twice(agent(home), "go")
    assert ("cache_control" in str(home.server.requests)) == (home.name == "anthropic")


def test_a_deferred_model_is_known_by_its_name(anthropic: Home) -> None:
    deferred = DeferredChatModel(lambda: anthropic.model, named="anthropic:claude-test")
    assert takes_cache_marks(deferred)
    assert not takes_cache_marks(DeferredChatModel(lambda: anthropic.model, named="openai:gpt-5-mini"))
    anthropic.server.answer(Said("Yes."))
    ask_sync(create_agent(deferred, [look], system_prompt="Be careful."), "go")
    assert len(marked(anthropic.server.requests[-1])) == 3
