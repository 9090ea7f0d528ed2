"""The worker's bound: its input tokens, added up over its requests."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import ask_sync, history
from compactions import agent, files, summary, values, words, worker, writes
from longthread.graph import CompactionConfig
from longthread.graph.scripted import call, say, scripted_tokens
from longthread.tools.tokens import count_text
from workers import compacted, outcome

Saver = BaseCheckpointSaver[Any]


def reads_for_ever(request: list[BaseMessage]) -> Any:
    """Never finishes by itself, but does as it is told at the end."""
    if "Little is left of your token budget" in request[-1].text:
        return writes(summary("told to finish"), call("mark_read_required", path="a.py"))
    return call("read_file", path="a.py", offset=len(request) % 15 + 1)


def test_near_its_bound_it_is_told_to_finish(saver: Saver, tmp_path: Path) -> None:
    by = worker(script=reads_for_ever)
    graph = compacted(saver, by, tmp_path, compact_worker_max_input_tokens=9_000)
    assert outcome(graph) == ("committed", 0)
    assert "told to finish" in history(graph)[0].text
    assert values(graph)["segments"][0]["worker_input_tokens"] <= 9_000


@pytest.mark.parametrize("bound", [2_500, 5_000, 9_000, 20_000])
def test_a_request_that_would_cross_the_bound_is_not_sent(saver: Saver, tmp_path: Path, bound: int) -> None:
    by = worker(script=lambda request: call("read_file", path="a.py", offset=len(request) % 15 + 1))
    graph = compacted(saver, by, tmp_path, compact_worker_max_input_tokens=bound, worker_max_requests=99)
    assert outcome(graph) == ("failed", 1)
    spent = sum(scripted_tokens(request) + 480 for request in by.requests)
    assert bound * 0.5 < spent <= bound * 1.05
    assert "compact_worker_max_input_tokens" in values(graph)["compaction"]["reason"]


def test_at_the_bound_with_a_valid_summary_it_has_done_it(saver: Saver, tmp_path: Path) -> None:
    def reads_on(request: list[BaseMessage]) -> Any:
        wrote = [] if len(request) > 2 else [call("write_summary", text=summary("the first"))]
        return say("", *wrote, call("read_file", path="a.py", offset=len(request) % 15 + 1))

    graph = compacted(saver, worker(script=reads_on), tmp_path, compact_worker_max_input_tokens=6_000)
    assert outcome(graph) == ("committed", 0)
    assert "the first" in history(graph)[0].text


def test_a_model_that_reports_no_usage_is_bounded_too(saver: Saver, tmp_path: Path) -> None:
    by = worker(script=lambda r: call("read_file", path="a.py", offset=len(r) % 15 + 1), usage=False)
    graph = compacted(saver, by, tmp_path, compact_worker_max_input_tokens=6_000, worker_max_requests=99)
    assert outcome(graph) == ("failed", 1)
    assert by.calls < 8


PATHS = [f"f{n}.py" for n in range(5)]
LONG = summary(words(380))
"""About 2 000 tokens."""


def made(request: Sequence[BaseMessage], name: str) -> int:
    return sum(isinstance(message, ToolMessage) and message.name == name for message in request)


def mark(path: str) -> Any:
    return call("mark_read_required", path=path)


def at_once(request: list[BaseMessage]) -> Any:
    if not made(request, "read_file"):
        return say("", *(call("read_file", path=path) for path in PATHS))
    return writes(LONG, *map(mark, PATHS))


def one_by_one(request: list[BaseMessage]) -> Any:
    read = made(request, "read_file")
    return call("read_file", path=PATHS[read]) if read < 5 else writes(LONG, *map(mark, PATHS))


def marks_apart(request: list[BaseMessage]) -> Any:
    read, marked = made(request, "read_file"), made(request, "mark_read_required")
    if read < 5:
        return call("read_file", path=PATHS[read])
    return mark(PATHS[marked]) if marked < 5 else writes(LONG)


def by_turns(request: list[BaseMessage]) -> Any:
    read, marked = made(request, "read_file"), made(request, "mark_read_required")
    if marked < read:
        return mark(PATHS[marked])
    return call("read_file", path=PATHS[read]) if read < 5 else writes(LONG)


def talk(turns: int) -> list[AnyMessage]:
    pairs = ((HumanMessage(f"question {n} {words(60)}"), AIMessage(f"answer {n} {words(140)}")) for n in range(turns))
    return [message for pair in pairs for message in pair]


@pytest.mark.parametrize("style", [at_once, one_by_one, marks_apart, by_turns])
def test_a_history_of_80_000_tokens_with_five_files_is_compacted_within_the_bound_twice(
    saver: Saver, tmp_path: Path, style: Callable[[list[BaseMessage]], Any]
) -> None:
    folder = files(tmp_path, **{f"f{n}": "\n".join(words(15) for _ in range(95)) for n in range(5)})
    by = worker(script=style)
    steps = [*(call("read_file", path=path) for path in PATHS), "read", "again"]
    graph = agent(steps, CompactionConfig(), by, checkpointer=saver, workspace=folder)
    for turns in (350, 330):
        ask_sync(graph, {"messages": [*talk(turns), HumanMessage("go")]})
        before = by.calls
        ask_sync(graph, {"compact_request": ""})
        segment = values(graph)["segments"][-1]
        assert segment["tokens_before"] > 78_000
        assert segment["worker_input_tokens"] <= 50_000
        assert segment["files"] == PATHS
        assert_shown(by.requests[before:], 7_500)
    assert count_text(LONG) > 1_900
    assert len(values(graph)["segments"]) == 2


def assert_shown(requests: Sequence[Sequence[BaseMessage]], most: int) -> None:
    """Overview and previous summary are within their share, and the request that brings the summary has enough."""
    sizes = []
    for request in requests:
        head, _, rest = request[1].text.partition("<conversation>")
        previous = head.partition("<previous_summary>")[2]
        sizes.append(len(rest.partition("</conversation>")[0] + previous) / 4)
    assert max(sizes) <= most
    assert sizes[0] > 0.8 * most
    assert sizes[-1] > 3_000
