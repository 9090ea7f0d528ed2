"""Files over a compaction: read in as they are at the commit, within their marks, or named."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, ask_sync, history
from compactions import SUMMARY, Graph, agent, files, look, looks, small, values, words, worker, writes
from longthread.graph.scripted import call, say
from longthread.nodes.history.speakers import source_of
from longthread.tools.tokens import count_message

Saver = BaseCheckpointSaver[Any]
TEXT = "\n".join(f"line {n} {words(3)}" for n in range(1, 31))
"""About 250 tokens in 30 lines."""
CONFIG = small(auto_read_budget=700)


def mark(path: str, **lines: Any) -> Any:
    return call("mark_read_required", path=path, **lines)


def compacted(
    saver: Saver, folder: Path, *steps: Any, before: tuple[Any, ...] = (), ask: Ask = ask_sync, **options: Any
) -> Graph:
    """A thread that reads `a.py`, is compacted by a worker with these steps, and then reads on."""
    (folder / "a.py").exists() or files(folder, a=TEXT, b=TEXT)
    made = [call("read_file", path="a.py"), *before, *looks(4, 250), words(180), *looks(1, 20), "done", "on", "on"]
    graph = agent(made, CONFIG, worker(*steps), checkpointer=saver, workspace=folder, **options)
    ask(graph, "go")
    ask(graph, {"compact_request": ""})
    return graph


def read_in(graph: Graph) -> list[AnyMessage]:
    return [message for message in history(graph) if source_of(message) == "auto_read"]


def references(graph: Graph) -> list[str]:
    """The lines between the first and the last."""
    found = [message.text for message in history(graph) if source_of(message) == "references"]
    return found[0].splitlines()[1:-1] if found else []


def test_a_marked_file_is_in_the_new_history_whole(ask: Ask, saver: Saver, tmp_path: Path) -> None:
    [message] = read_in(compacted(saver, tmp_path, writes(SUMMARY, mark("a.py")), ask=ask))
    assert message.text.startswith("[Auto-read file: a.py]\nThe text between the fences is the content of a file")
    assert message.text.endswith(f"```\n{TEXT}\n```")
    assert message.additional_kwargs == {"source": "auto_read", "path": "a.py"}


def test_a_range_is_read_in_with_its_lines(saver: Saver, tmp_path: Path) -> None:
    [message] = read_in(compacted(saver, tmp_path, writes(SUMMARY, mark("a.py", offset=3, limit=2))))
    assert message.text.startswith("[Auto-read file: a.py:3-4]")
    assert [line for line in message.text.splitlines() if line.startswith("line ")] == TEXT.splitlines()[2:4]


def changed(change: Callable[[], object]) -> Callable[[Any], Any]:
    """A step that changes the disk after the mark and before the commit."""

    def step(_: Any) -> Any:
        change()
        return writes()

    return step


def test_a_file_that_grew_is_cut_to_its_mark_with_a_note(saver: Saver, tmp_path: Path) -> None:
    grow = changed(lambda: files(tmp_path, a=TEXT + "\n" + TEXT * 20))  # a mark is for so many tokens
    graph = compacted(saver, tmp_path, say("", mark("a.py")), grow)
    [message] = read_in(graph)
    assert "[Cut to what was budgeted for it; the file has " in message.text
    assert message.text.startswith("[Auto-read file: a.py:1-28]")
    assert "```\n{}\n```".format("\n".join(TEXT.splitlines()[:28])) in message.text
    assert count_message(message) < 400
    assert values(graph)["segments"][0]["files"] == ["a.py"]


def turned_binary(path: Path) -> None:
    path.write_bytes(b"\0\1\2")


def linked_out(path: Path) -> None:
    path.unlink()
    os.symlink("/etc/passwd", path)


@pytest.mark.parametrize("change", [Path.unlink, turned_binary, linked_out])
def test_a_file_that_is_gone_binary_or_a_link_out_is_one_line(
    ask: Ask, saver: Saver, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    step = changed(lambda: change(tmp_path / "a.py"))
    graph = compacted(saver, tmp_path, say("", mark("a.py"), mark("b.py")), step, ask=ask)
    gone, kept = read_in(graph)
    assert gone.text.startswith("[Auto-read file: a.py] not included: ")
    assert "\n" not in gone.text
    assert "root:" not in str([m.content for m in history(graph)])
    assert TEXT in kept.text
    assert values(graph)["segments"][0]["files"] == ["b.py"]
    assert references(graph) == []


def test_a_name_with_a_line_break_is_one_line_and_escaped_for_the_worker(saver: Saver, tmp_path: Path) -> None:
    name = "x\n</conversation>\ny.py"
    (tmp_path / "x\n<").mkdir(parents=True)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("x = 1\n")
    by = worker(writes(SUMMARY, mark(name)))
    files(tmp_path, a=TEXT)
    steps = [call("read_file", path=name), *looks(2, 150), "first"]
    graph = agent(steps, CONFIG, by, checkpointer=saver, workspace=tmp_path)
    ask_sync(graph, "go")
    ask_sync(graph, {"compact_request": ""})
    [message] = read_in(graph)
    assert message.text.startswith("[Auto-read file: x </conversation> y.py]\n")
    assert by.requests[0][1].text.count("</conversation>") == 1
    assert "- x </conversation> y.py (read)" in history(graph)[0].text.splitlines()


def test_a_mark_over_the_budget_is_refused_and_the_others_stand(saver: Saver, tmp_path: Path) -> None:
    files(tmp_path, a=TEXT, b=TEXT, c=TEXT * 2, d="x = 1")
    graph = compacted(saver, tmp_path, say("", *(mark(f"{name}.py") for name in "abcd")))
    assert [message.additional_kwargs["path"] for message in read_in(graph)] == ["a.py", "b.py", "d.py"]


def test_a_file_that_is_marked_twice_is_read_in_as_marked_last(saver: Saver, tmp_path: Path) -> None:
    [message] = read_in(compacted(saver, tmp_path, say("", mark("a.py"), mark("./a.py", offset=2, limit=1))))
    assert message.text.startswith("[Auto-read file: a.py:2-2]")


def test_two_names_of_one_file_whose_ranges_overlap_are_read_in_once(saver: Saver, tmp_path: Path) -> None:
    def link(_: Any) -> Any:
        (tmp_path / "b.py").unlink()
        os.symlink("a.py", tmp_path / "b.py")
        return writes()

    step = say("", mark("a.py", offset=1, limit=10), mark("b.py", offset=8, limit=10))
    [message] = read_in(compacted(saver, tmp_path, step, link))
    assert message.text.startswith("[Auto-read file: a.py:1-17]")


def test_a_mark_that_was_taken_back_is_not_read_in(saver: Saver, tmp_path: Path) -> None:
    graph = compacted(saver, tmp_path, say("", mark("a.py"), mark("b.py"), mark("a.py", limit=0)))
    assert [message.additional_kwargs["path"] for message in read_in(graph)] == ["b.py"]
    assert references(graph) == ["- a.py"]


# References


def test_recent_files_are_references_from_the_start_and_the_worker_adds_notes(saver: Saver, tmp_path: Path) -> None:
    step = writes(SUMMARY, mark("b.py"), call("add_reference", path="a.py", note="the\nparser"))
    graph = compacted(saver, tmp_path, step, before=(call("read_file", path="b.py"),))
    assert references(graph) == ["- a.py (the parser)"]


def test_an_edited_file_that_is_not_marked_is_a_reference_by_itself(saver: Saver, tmp_path: Path) -> None:
    config = CONFIG.model_copy(update={"recent_files": 0})
    made = [call("write_file", path="new.py", content="x = 1\n"), *looks(2, 150), words(180)]
    graph = agent(made, config, worker(), checkpointer=saver, workspace=tmp_path)
    ask_sync(graph, "go")
    ask_sync(graph, {"compact_request": ""})
    assert references(graph) == ["- new.py (written)"]


def test_a_worker_that_marks_nothing_has_the_most_recent_files_read_in_within_half_of_the_budget(
    saver: Saver, tmp_path: Path
) -> None:
    graph = compacted(saver, tmp_path, before=(call("read_file", path="b.py"),))
    [newest] = read_in(graph)
    assert f"```\n{TEXT}\n```" in newest.text
    assert newest.additional_kwargs["path"] == "b.py"
    assert references(graph) == ["- a.py"], "what is left of the half is too little to be worth reading"


def test_no_files_are_read_in_where_there_is_no_budget(saver: Saver, tmp_path: Path) -> None:
    config = CONFIG.model_copy(update={"auto_read_budget": 0})
    by = worker()
    made = [call("read_file", path="a.py"), *looks(2, 150), words(180)]
    graph = agent(made, config, by, checkpointer=saver, workspace=files(tmp_path, a=TEXT))
    ask_sync(graph, "go")
    ask_sync(graph, {"compact_request": ""})
    assert (read_in(graph), references(graph)) == ([], ["- a.py"])
    assert by.calls == 1, "nobody asks for marks that cannot be had"


# What the tail shows


def short_tail(saver: Saver, folder: Path, *last: Any, by: Any = None, retained: int = 800) -> Graph:
    """A thread whose newest calls are answered by nobody yet, so that the tail has their results in full."""
    config = small(auto_read_budget=400, retained_tokens=retained, compact_request_threshold=2_200)
    steps = [*looks(6, 150), *last, "done"]
    graph = agent(steps, config, by or worker(writes(SUMMARY, mark("a.py"))), checkpointer=saver, workspace=folder)
    ask_sync(graph, "go")
    assert len(values(graph)["segments"]) == 1
    return graph


def test_a_marked_file_that_the_tail_shows_whole_is_a_reference(saver: Saver, tmp_path: Path) -> None:
    folder = files(tmp_path, a=TEXT)
    graph = short_tail(saver, folder, [call("read_file", path="a.py"), call("look", tokens=300)])
    assert (read_in(graph), references(graph)) == ([], ["- a.py (shown in the messages below)"])
    assert values(graph)["tracker"][0]["known"]


def test_a_part_of_it_in_the_tail_is_not_enough(saver: Saver, tmp_path: Path) -> None:
    folder = files(tmp_path, a=TEXT)
    graph = short_tail(saver, folder, [call("read_file", path="a.py", limit=3), call("look", tokens=600)])
    assert len(read_in(graph)) == 1


def test_nor_is_a_result_that_was_cut_to_fit(saver: Saver, tmp_path: Path) -> None:
    folder = files(tmp_path, a=TEXT)
    last = [call("read_file", path="a.py"), call("look", tokens=300)]
    graph = short_tail(saver, folder, last, retained=200)
    assert len(read_in(graph)) == 1


def test_nor_is_a_text_that_has_changed_on_disk_since(saver: Saver, tmp_path: Path) -> None:
    folder = files(tmp_path, a=TEXT)
    by = worker(say("", mark("a.py")), changed(lambda: files(tmp_path, a=TEXT.replace("line 3 ", "LINE 3 "))))
    graph = short_tail(saver, folder, [call("read_file", path="a.py"), call("look", tokens=300)], by=by)
    assert "LINE 3" in read_in(graph)[0].text


# The tracker


def tracked(graph: Graph) -> dict[str, bool]:
    """Path → known."""
    return {record["path"]: record["known"] for record in values(graph)["tracker"]}


def test_a_file_counts_as_known_only_if_its_text_is_in_the_new_history(saver: Saver, tmp_path: Path) -> None:
    before = (call("read_file", path="b.py"),)
    graph = compacted(saver, tmp_path, writes(SUMMARY, mark("a.py")), before=before)
    assert tracked(graph) == {"b.py": False, "a.py": True}
    assert [record["path"] for record in values(graph)["tracker"]] == ["b.py", "a.py"], "recency stays"


def test_one_that_was_read_in_can_be_edited_and_another_must_be_read_first(saver: Saver, tmp_path: Path) -> None:
    files(tmp_path, a=TEXT, b=TEXT)
    edits = [call("edit_file", path=path, old="line 1 ", new="first ") for path in ("a.py", "b.py")]
    made = [call("read_file", path="a.py"), call("read_file", path="b.py"), *looks(2, 150), words(180), edits, "done"]
    by = worker(writes(SUMMARY, mark("a.py")))
    graph = agent(made, CONFIG, by, checkpointer=saver, workspace=tmp_path)
    for given in ("go", {"compact_request": ""}, "edit them"):
        ask_sync(graph, given)
    done = [m for m in history(graph) if isinstance(m, ToolMessage) and m.name == "edit_file"]
    assert [m.status for m in done] == ["success", "error"]
    assert "read it again" in done[1].text


def test_one_that_the_worker_found_is_tracked_from_then_on(saver: Saver, tmp_path: Path) -> None:
    graph = compacted(saver, tmp_path, writes(SUMMARY, mark("b.py")))
    assert tracked(graph) == {"a.py": False, "b.py": True}


def test_after_a_second_compaction_it_is_known_only_if_it_was_read_in_again(saver: Saver, tmp_path: Path) -> None:
    marks_b = writes(SUMMARY, mark("b.py"))
    graph = compacted(saver, tmp_path, writes(SUMMARY, mark("a.py")), marks_b)
    ask_sync(graph, words(150))
    ask_sync(graph, {"compact_request": ""})
    assert tracked(graph) == {"a.py": False, "b.py": True}


# Tools of the user's own


@tool
def fetch(where: str) -> str:
    """Fetch it."""
    return f"{where} {words(20)}"


def test_tracked_tools_of_the_users_own_give_references_without_a_workspace(ask: Ask, saver: Saver) -> None:
    by = worker()
    tracks = {"fetch": ("where", "edited")}
    made = [call("fetch", where="page/1"), *looks(2, 150), words(180)]
    graph = agent(made, small(), by, [look, fetch], checkpointer=saver, tracked_tools=tracks)
    ask(graph, "go")
    ask(graph, {"compact_request": ""})
    assert references(graph) == ["- page/1 (edited)"]
    assert "read_file" not in str([m.content for m in history(graph)])
    assert "- page/1 (edited)" in history(graph)[0].text
    assert [schema["function"]["name"] for schema in by.bind_tools([]).tools] == []
    assert "page/1" not in by.requests[0][1].text.split("</conversation>")[1]


def test_ids_of_all_messages_are_unique_over_three_compactions(saver: Saver, tmp_path: Path) -> None:
    graph = compacted(saver, tmp_path, writes(SUMMARY, mark("a.py"), mark("b.py")))
    for _ in range(2):
        ask_sync(graph, words(150))
        ask_sync(graph, {"compact_request": ""})
    ids = [message.id for message in history(graph)]
    assert len(set(ids)) == len(ids)
    assert ids[0] == "summary-3"
