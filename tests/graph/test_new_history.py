"""The history after a compaction: its order, its texts, what travels in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, ask_async, ask_sync, history, plan, thread, todo
from compactions import Graph, agent, files, looks, small, sources, summary, values, words, worker, writes
from longthread.graph import ScriptedChatModel
from longthread.graph.scripted import call, say

Saver = BaseCheckpointSaver[Any]
SNAPSHOT = Path(__file__).parent.parent / "data" / "snapshots" / "new_history.txt"
TODOS = plan(
    todo("1", "read the parser", "completed"), todo("2", "mend the parser", "in_progress"), todo("3", "test it")
)
CONFIG = small(auto_read_budget=400)
SUMMARY = summary(
    completed_tasks="### Reading\nThe parser was read.",
    active_task="### Mending\nA stack is missing.",
    key_decisions="- A stack instead of recursion: inputs are deep.",
    user_directives='- "never edit generated.py"',
    current_work="Reading the lexer.",
)


def compacted(saver: Saver, folder: Path, ask: Ask = ask_sync) -> Graph:
    """A thread with everything in it, after its first compaction."""
    parser = "\n".join(f"def rule_{n}(): ..." for n in range(1, 31))
    files(folder, parser=parser, lexer="TOKENS = []\n", generated="# made\n")
    first, last = call("mark_read_required", path="parser.py", offset=2, limit=3), "I go on."
    by = worker(writes(SUMMARY, first, call("add_reference", path="lexer.py", note="tokens come from here")))
    reads = [call("read_file", path=f"{name}.py") for name in ("generated", "parser", "lexer")]
    edit = call("edit_file", path="lexer.py", old="[]", new="[1]")
    steps = [TODOS, *reads, edit, call("look", tokens=7, fails=True), *looks(4, 150), words(160), *looks(1, 40), last]
    graph = agent([*steps, "more", "and more"], CONFIG, by, checkpointer=saver, workspace=folder)
    task = [SystemMessage("House rules: be brief.", id="rules"), ("user", "Mend the parser, never edit generated.py")]
    for given in ({"messages": task}, "Show me.", {"compact_request": ""}):
        ask(graph, given)
    return graph


def rendered(messages: list[AnyMessage]) -> str:
    """Each message under a line with its type, source and id, where the graph made it."""
    return "\n".join(f"=== {_title(message)} ===\n{message.text}\n{_calls(message)}" for message in messages)


def _title(message: AnyMessage) -> str:
    source = message.additional_kwargs.get("source")
    return f"{message.type} {source} {message.id}" if source else message.type


def _calls(message: AnyMessage) -> str:
    return "".join(f"(calls {c['name']} {json.dumps(c['args'])})\n" for c in getattr(message, "tool_calls", []))


def test_it_is_the_one_that_was_reviewed(saver: Saver, tmp_path: Path) -> None:
    assert rendered(history(compacted(saver, tmp_path))) == SNAPSHOT.read_text()


def test_its_order(ask: Ask, saver: Saver, tmp_path: Path) -> None:
    assert sources(history(compacted(saver, tmp_path, ask))) == [
        "system",
        "compaction_summary",
        "auto_read",
        "references",
        "todo_snapshot",
        "human",
        "todo_reminder",
        "ai",
        "tool",
        "ai",
    ]


def test_all_before_the_tail_are_system_messages_with_ids_of_their_own(saver: Saver, tmp_path: Path) -> None:
    found = history(compacted(saver, tmp_path))
    assert all(isinstance(message, SystemMessage) for message in found[:5])
    assert [message.id for message in found[:5]] == [
        "rules",
        "summary-1",
        "file-1-1",
        "references-1",
        "todo-snapshot-1",
    ]


def test_what_the_next_compaction_needs_travels_in_the_messages_alone(saver: Saver, tmp_path: Path) -> None:
    """A parent graph, or an export, hands over nothing else."""
    dumped = json.loads(json.dumps(messages_to_dict(history(compacted(saver, tmp_path)))))
    by = worker()
    other = agent([words(190), words(190)], CONFIG, by, checkpointer=saver, workspace=tmp_path)
    config = thread("other")
    ask_sync(other, {"messages": [*messages_from_dict(dumped), ("user", words(90))]}, config)
    ask_sync(other, {"compact_request": ""}, config)
    new = history(other, config)
    assert new[1].id == "summary-2"
    assert values(other, config)["segments"][-1]["number"] == 2
    for kept in ("never edit generated.py", "lexer.py (edited)", "looking at 7 failed", "mend the parser"):
        assert kept in "\n".join(message.text for message in new), kept
    assert "### Mending\nA stack is missing." in by.requests[0][1].text


def test_the_segment_says_what_was_done(saver: Saver, tmp_path: Path) -> None:
    graph = compacted(saver, tmp_path)
    [segment] = values(graph)["segments"]
    carried = history(graph)[1].additional_kwargs["segment"]
    assert carried == segment
    assert (segment["trigger"], segment["number"], segment["kept"]) == ("user", 1, 5)
    assert (segment["files"], segment["references"]) == (["parser.py"], ["generated.py", "lexer.py"])
    assert segment["tokens_after"] < segment["tokens_before"]
    before = graph.get_state(thread(checkpoint_id=segment["compacted_from"]))
    assert len(before.values["messages"]) == segment["summarised"] + segment["kept"] + 1
    assert sources(before.values["messages"])[:2] == ["system", "human"]


def test_without_a_saver_there_is_nothing_to_link_back_to(tmp_path: Path) -> None:
    graph = agent([*looks(5, 150), "done"], small(compact_request_threshold=800))
    found = graph.invoke({"messages": [("user", "go")]})["messages"]
    segment = found[0].additional_kwargs["segment"]
    assert (segment["compacted_from"], segment["worker_namespace"]) == (None, None)


def test_the_todo_list_is_empty_afterwards_and_built_again_from_the_snapshot(saver: Saver, tmp_path: Path) -> None:
    graph = compacted(saver, tmp_path)
    assert values(graph)["todos"] == []
    again = agent([plan(todo("2", "mend the parser")), "on"], CONFIG, checkpointer=saver, workspace=tmp_path)
    ask_sync(again, "go on")
    assert [item["id"] for item in values(again)["todos"]] == ["2"]


@pytest.mark.parametrize("in_tail", [True, False])
def test_over_three_compactions_the_same_snapshot_stands_once_in_each(ask: Ask, saver: Saver, in_tail: bool) -> None:
    before = [TODOS, "planned"] if in_tail else [TODOS, *looks(3, 150), words(190)]
    steps = [*before, *[step for _ in range(3) for step in (*looks(2, 150), words(120 if in_tail else 190))]]
    start = [*looks(4, 150), words(30), *steps] if in_tail else steps
    graph = agent(start, small(), checkpointer=saver)
    texts = []
    for _ in range(2 if in_tail else 1):
        ask(graph, "go")
    for _ in range(3):
        ask(graph, {"compact_request": ""})
        shown = [m for m in history(graph) if m.additional_kwargs.get("source") == "todo_snapshot"]
        assert len(shown) == 1
        texts.append(shown[0].text)
        ask(graph, words(60))
    assert len(values(graph)["segments"]) == 3
    assert len(set(texts)) == 1
    assert "[~] (2) mend the parser\n[ ] (3) test it" in texts[0]
    assert "(1)" not in texts[0]


def test_a_list_that_was_emptied_is_not_carried_on(saver: Saver) -> None:
    turn = [*looks(3, 150), words(150)]
    graph = agent([TODOS, *turn, plan(), *turn], small(), checkpointer=saver)
    for given in ("go", {"compact_request": ""}, "on", {"compact_request": ""}):
        ask_async(graph, given)
    assert len(values(graph)["segments"]) == 2
    assert "todo_snapshot" not in sources(history(graph))


def test_the_next_request_is_this_history(saver: Saver, tmp_path: Path) -> None:
    graph = compacted(saver, tmp_path)
    model = ScriptedChatModel(["on"])
    other = agent(model, CONFIG, checkpointer=saver, workspace=tmp_path, system_prompt="Be good.")
    before = history(graph)
    ask_sync(other, "go on")
    assert [m.content for m in model.requests[0]] == ["Be good.", *(m.content for m in before), "go on"]


def test_the_tail_is_in_summary_only_form_but_for_results_nobody_has_answered(saver: Saver) -> None:
    steps = [*looks(4, 150), say("two more", *looks(1, 90), *looks(1, 80)), "done"]
    graph = agent(steps, small(compact_request_threshold=950, retained_tokens=320), checkpointer=saver)
    ask_sync(graph, "go")
    found = [m.text for m in history(graph) if isinstance(m, ToolMessage)]
    assert found[-2:] == [words(90, "see"), words(80, "see")]
    assert all(text.startswith("[Cleared to save space") for text in found[:-2])
    assert len(found) == 3


def test_the_tail_keeps_ids_and_loses_the_stamps_of_its_requests(saver: Saver, tmp_path: Path) -> None:
    graph = compacted(saver, tmp_path)
    before = graph.get_state(thread(checkpoint_id=values(graph)["segments"][0]["compacted_from"])).values["messages"]
    after = history(graph)
    assert [m.id for m in after[-4:]] == [m.id for m in before[-4:]]
    assert "request" in before[-1].additional_kwargs
    assert not any("request" in m.additional_kwargs for m in after)


def test_a_record_from_before_is_not_used_after_it(saver: Saver, tmp_path: Path) -> None:
    graph = compacted(saver, tmp_path)
    occupancy = values(graph)["occupancy"]
    assert occupancy["tokens"] == values(graph)["segments"][0]["tokens_after"]
    assert occupancy["source"] != "measured"
    model = ScriptedChatModel(["on"])
    ask_sync(agent(model, CONFIG, checkpointer=saver, workspace=tmp_path), "go on")
    answer = history(graph)[-1]
    assert isinstance(answer, AIMessage)
    assert answer.usage_metadata
    measured = answer.usage_metadata["input_tokens"]
    assert abs(measured - occupancy["tokens"]) < 0.1 * measured
