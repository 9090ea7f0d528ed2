"""A compaction planned without a model says what the real one does."""

import json
from collections.abc import Sequence
from copy import deepcopy

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage, messages_from_dict
from langgraph.checkpoint.memory import InMemorySaver

from agents import ask_sync, plan, thread, todo
from compactions import agent, look, looks, small, values, words
from counting_figures import SESSION
from longthread.graph import CompactionConfig, dry_run

CONFIG = small(compact_threshold=800, compact_request_threshold=900)
BETWEEN_TURNS = small(compact_threshold=600)


def talk(turns: int, tokens: int = 100) -> list[AnyMessage]:
    """Turns of a question and an answer of so many tokens."""
    said = [(HumanMessage(f"question {n}"), AIMessage(f"answer {n} {words(tokens)}")) for n in range(turns)]
    return [message for turn in said for message in turn]


def read(path: str, text: str, number: int) -> list[AnyMessage]:
    """A read of a file, and its result."""
    asked = AIMessage("", tool_calls=[{"name": "read_file", "args": {"path": path}, "id": f"c{number}"}])
    return [asked, ToolMessage(text, name="read_file", tool_call_id=f"c{number}")]


def test_it_plans_what_the_real_compaction_then_does() -> None:
    graph = agent([*looks(10, 40), "Looked."], BETWEEN_TURNS, checkpointer=InMemorySaver())
    ask_sync(graph, "never edit data/")
    [segment] = values(graph)["segments"]
    history = values(graph, thread(checkpoint_id=segment["compacted_from"]))["messages"]
    planned = dry_run(history, BETWEEN_TURNS, model="scripted")
    assert planned.due == segment["trigger"] == "compact_threshold"
    assert len(planned.summarised) == segment["summarised"]
    assert [m.content for m in planned.kept] == [m.content for m in values(graph)["messages"][-segment["kept"] :]]
    assert planned.occupancy["tokens"] == segment["tokens_before"]
    assert planned.tokens_after[0] <= segment["tokens_after"] <= planned.tokens_after[1]


def test_every_message_is_summarised_or_kept_and_nothing_is_changed() -> None:
    history = talk(12)
    given = deepcopy(history)
    planned = dry_run(history, CONFIG)
    assert [m.content for m in (*planned.summarised, *planned.kept)] == [m.content for m in given]
    assert history == given


def test_the_users_words_are_pinned_and_the_rest_is_counted() -> None:
    planned = dry_run(talk(60, 20), small(compact_threshold=800, pinned_user_tokens=60))
    assert planned.pinned[0] == "question 0"
    assert planned.unpinned > 0
    assert len(planned.pinned) + planned.unpinned == sum(m.type == "human" for m in planned.summarised)


def test_files_of_the_history_are_candidates_the_newest_first() -> None:
    history = [HumanMessage("go"), *read("a.py", words(300), 1), *read("b.py", words(300), 2), *talk(2)]
    assert dry_run(history, CONFIG).files == ["b.py", "a.py"]


def test_the_tools_of_another_agent_are_named_as_for_create_agent() -> None:
    asked = AIMessage("", tool_calls=[{"name": "cat", "args": {"file": "x.py"}, "id": "c1"}])
    history = [HumanMessage("go"), asked, ToolMessage(words(300), tool_call_id="c1"), *talk(4)]
    assert dry_run(history, CONFIG).files == []
    assert dry_run(history, CONFIG, tracked_tools={"cat": "file"}).files == ["x.py"]


def test_a_prune_step_comes_first_and_may_make_the_compaction_needless() -> None:
    history = [
        HumanMessage("go"),
        *read("a.py", words(700), 1),
        *read("b.py", words(100), 2),
        AIMessage("Read."),
        HumanMessage("on"),
    ]
    planned = dry_run(history, small(compact_threshold=800, prune_protected_tokens=150))
    assert planned.prune is not None
    assert planned.prune.calls == ["c1"]
    assert planned.occupancy["tokens"] > 800 > planned.after_pruning
    assert planned.due is None


def test_after_an_answer_the_compaction_comes_first() -> None:
    history = [HumanMessage("go"), *read("a.py", words(700), 1), *read("b.py", words(100), 2), AIMessage("Read.")]
    planned = dry_run(history, small(compact_threshold=800, prune_protected_tokens=150))
    assert planned.due == "compact_threshold"
    assert planned.prune is not None


def test_open_todos_are_replayed_from_the_history() -> None:
    graph = agent([plan(todo("1", "mend it"), todo("2", "done", "completed")), "Later."], CONFIG, tools=[look])
    assert [item["content"] for item in dry_run(ask_sync(graph, "go")["messages"], CONFIG).todos] == ["mend it"]


@pytest.mark.parametrize(
    ("history", "fixed", "reason"),
    [(talk(1, 10), 0, "nothing: "), ([], 0, "nothing: "), (talk(4), 890, "irreducible: ")],
    ids=["short", "empty", "a system prompt that is too long"],
)
def test_it_says_why_there_would_be_none(history: Sequence[AnyMessage], fixed: int, reason: str) -> None:
    planned = dry_run(history, CONFIG, fixed_tokens=fixed)
    assert planned.reason.startswith(reason)
    assert planned.summarised == []
    assert reason in str(planned)


def test_it_reads_as_a_report() -> None:
    history = [HumanMessage("never edit data/"), *read("a.py", words(300), 1), *talk(10), HumanMessage("on")]
    said = str(dry_run(history, CONFIG))
    for part in ("above compact_request_threshold", "summarised   ", "retained_tokens=200", "never edit data/", "a.py"):
        assert part in said
    assert max(map(len, said.splitlines())) <= 140


@pytest.mark.skipif(not SESSION.exists(), reason="needs the recorded session, which is not part of the repository")
def test_a_recorded_session_of_another_agent() -> None:
    history = messages_from_dict([json.loads(line) for line in SESSION.read_text().splitlines()])
    config = CompactionConfig(compact_threshold=80_000, compact_request_threshold=90_000)
    planned = dry_run(history, config, tracked_tools={"read": "path", "edit": ("path", "edited")})
    assert planned.due == "compact_threshold"
    users = sum(m.type == "human" for m in (*planned.summarised, *planned.kept))
    assert users == sum(m.type == "human" for m in history)
    assert planned.files
    assert planned.tokens_after[1] < 80_000


def test_it_pins_the_users_words_that_the_tail_would_cut() -> None:
    config = CompactionConfig(retained_tokens=200, pinned_user_tokens=1_000, summary_max_tokens=200)
    messages = [HumanMessage("begin"), AIMessage("I begin."), HumanMessage("keep this; " * 150)]
    assert dry_run(messages, config).pinned == ["begin", "keep this; " * 150]
