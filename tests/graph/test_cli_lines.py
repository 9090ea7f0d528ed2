"""The words for events that are rare."""

from typing import Any

import pytest

from longthread.graph.cli.bar import ASCII, FANCY
from longthread.graph.cli.lines import MAX_FILES, Lines

START = {"event": "run_start", "thread": "t", "model": "m", "workspace": "/w", "resumed": False}
LIMITS = {"compact_threshold": 3_000, "compact_request_threshold": 3_600}


def lines(event: dict[str, Any]) -> list[str]:
    """The lines of an event of a run with two thresholds."""
    teller = Lines(ASCII)
    teller.of({**START, **LIMITS})
    return [line.plain for line in teller.of(event)]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"event": "reminder", "todos": 1}, "  reminded of 1 open todo"),
        (
            {"event": "pruned", "results": 2, "tokens_before": 9_000, "tokens_after": 4_000},
            "  pruned 2 old tool results to their summaries: 9,000 to 4,000 tokens",
        ),
        (
            {"event": "compact_start", "trigger": "context_refused", "tokens_before": 9, "messages": 7},
            "  compaction after the provider refused the request as too long: summarising 7 messages...",
        ),
        (
            {"event": "compact_failed", "reason": "no\x1b[2Jsummary", "breaker_open": False},
            "  failed compaction failed: nosummary",
        ),
        (
            {"event": "compact_failed", "reason": "again", "breaker_open": True},
            "  failed compaction failed; automatic compaction is off until one succeeds: again",
        ),
        (
            {"event": "compact_skipped", "trigger": "compact_request_threshold", "outcome": "no_gain", "reason": "why"},
            "  no compaction (between requests, above 3,600): why",
        ),
        (
            {"event": "model_error", "kind": "context", "text": "too long"},
            "  failed the model says that the context is too long: too long",
        ),
    ],
)
def test_an_event_is_one_line(event: dict[str, Any], said: str) -> None:
    assert lines(event) == [said]


@pytest.mark.parametrize("event", [{"event": "unknown"}, {"event": "model_error", "kind": "final", "text": "x"}])
def test_what_is_told_elsewhere_is_no_line(event: dict[str, Any]) -> None:
    assert lines(event) == []


def test_a_compaction_that_a_summary_without_a_model_saved_says_so() -> None:
    done = {"event": "compact_done", "trigger": "context_refused", "tokens_before": 3_500, "tokens_after": 900}
    rest = {"files": [], "references": ["a.py"], "summarised": 8, "kept": 2, "seconds": 1.25, "reason": "it was mute"}
    before, after, references, kept, reason = lines({**done, **rest})
    assert before.endswith(" 3,500 tokens, compacts at 3,000 | 3,600")
    assert after.endswith(" 900 tokens, compacts at 3,000 | 3,600")
    assert references == "    references: a.py"
    assert kept == "    2 messages kept, 1.2 s"
    assert reason == "    summary made without the model: it was mute"


def test_the_same_list_is_not_shown_twice_and_an_empty_one_not_at_all() -> None:
    teller, todos = Lines(FANCY), [{"id": "1", "content": "dig", "status": "pending"}]
    shown = [len(teller.of({"event": "todos", "todos": given})) for given in (todos, todos, [], todos)]
    assert shown == [2, 0, 0, 0]


def test_many_changes_are_counted() -> None:
    file = {"path": "a", "change": "added", "added": 1, "removed": 0}
    told = lines({"event": "changes", "files": [file] * (MAX_FILES + 5)})
    assert told[-1] == "  and 5 more"
    assert len(told) == MAX_FILES + 2
