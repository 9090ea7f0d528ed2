"""A thread over all its segments: the whole conversation, and forks from before a compaction."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from agents import history, plan, thread, todo
from compactions import agent, files, looks, small, sources, values
from long_threads import EVERYTHING, LOOKS, TODOS, looked, looking, said
from longthread.graph import ThreadError, create_agent, fork, transcript
from longthread.graph.scripted import ScriptedChatModel, call, say
from longthread.graph.threads import describe
from longthread.nodes.history.rebuild import REBUILT
from longthread.tools.errors import RequestLimitReached, ThreadNotFound


def test_the_transcript_has_every_message_once_whole_and_in_order(saver: Any) -> None:
    graph = looked(saver)
    found = transcript(saver, "t")
    assert len(values(graph)["segments"]) >= 3
    assert said(found) == EVERYTHING
    assert len({message.id for message in found}) == len(found)
    assert [len(m.text.split()) for m in found if m.type == "tool" and m.name == "look"] == [60] * LOOKS
    assert not REBUILT & {*sources(found)}


def test_the_transcript_is_the_same_through_ones_own_graph(saver: Any) -> None:
    graph = looked(saver)
    assert transcript(graph, "t") == transcript(saver, "t")


def test_the_transcript_of_an_unfinished_thread_goes_up_to_where_it_stands(saver: Any) -> None:
    graph = looking(saver, max_requests=20)
    with pytest.raises(RequestLimitReached):
        graph.invoke({"messages": [("user", "look thirty times")]}, {**thread(), "recursion_limit": 500})
    assert values(graph)["segments"]
    assert said(transcript(saver, "t")) == EVERYTHING[:21]


def test_a_tail_that_is_kept_shortened_stands_in_full_in_the_transcript(saver: Any) -> None:
    graph = looked(saver, looks=10, tokens=100)
    shortened = [m for m in history(graph) if isinstance(m, ToolMessage) and len(m.text.split()) < 100]
    whole = {message.id: message for message in transcript(saver, "t")}
    assert shortened
    assert all(len(whole[message.id].text.split()) == 100 for message in shortened)


def test_a_thread_that_is_not_there_has_no_transcript(saver: Any) -> None:
    with pytest.raises(ThreadNotFound, match="no thread is named 'u'"):
        transcript(saver, "u")


def test_a_fork_from_before_a_compaction_sees_the_original_messages(saver: Any) -> None:
    graph = looked(saver)
    fork(saver, "t", "new", segment=1)
    forked = values(graph, thread("new"))
    assert said(forked["messages"]) == EVERYTHING[: len(said(forked["messages"]))]
    assert forked["messages"] == transcript(saver, "t")[: len(forked["messages"])]
    assert forked["todos"] == TODOS
    assert forked["segments"] == []


def test_a_fork_goes_on_where_it_stands_and_leaves_the_old_thread(saver: Any) -> None:
    graph = looked(saver)
    before = values(graph)
    fork(saver, "t", "new", segment=2)
    create_agent(ScriptedChatModel(["Enough."]), checkpointer=saver).invoke(None, thread("new"))
    assert said(transcript(saver, "new"))[-1] == "Enough."
    assert values(graph) == before


def test_a_fork_of_a_fork_still_knows_the_whole_conversation(saver: Any) -> None:
    looked(saver)
    fork(saver, "t", "second", segment=3)
    fork(saver, "second", "third", segment=2)
    third = transcript(saver, "third")
    assert said(third) == EVERYTHING[: len(said(third))]
    assert [record.get("thread") for record in describe(saver, "third").segments] == ["t"]


def test_a_fork_from_now_is_finished_if_the_thread_is(saver: Any) -> None:
    looked(saver)
    fork(saver, "t", "new")
    info = describe(saver, "new").info
    assert (info.status, info.metadata["workspace"]) == ("done", "w")
    assert said(transcript(saver, "new")) == EVERYTHING


def test_an_unfinished_thread_is_forked_with_what_it_was_about_to_do(saver: Any) -> None:
    graph = looking(saver, max_requests=20)
    with pytest.raises(RequestLimitReached):
        graph.invoke({"messages": [("user", "look thirty times")]}, {**thread(), "recursion_limit": 500})
    fork(saver, "t", "new")
    looking(saver).invoke(None, {**thread("new"), "recursion_limit": 500})
    assert describe(saver, "new").info.status == "done"
    assert transcript(saver, "new")[-1].text == "Done."


def test_a_fork_keeps_the_tracker(saver: Any, tmp_path: Path) -> None:
    files(tmp_path, a="one = 1\n")
    steps = [say("", call("read_file", path="a.py")), say("", plan(todo())), *looks(14, 180), "Done."]
    graph = agent(steps, small(compact_request_threshold=2_600), workspace=tmp_path, checkpointer=saver)
    graph.invoke({"messages": [("user", "read a.py")]}, {**thread(), "recursion_limit": 500})
    fork(saver, "t", "new", segment=1)
    edit = [say("", call("edit_file", path="a.py", old="1", new="2")), "Edited."]
    agent(edit, None, workspace=tmp_path, checkpointer=saver).invoke({"messages": [("user", "edit")]}, thread("new"))
    assert (tmp_path / "a.py").read_text() == "one = 2\n"


def test_a_wish_to_compact_is_not_forked(saver: Any) -> None:
    graph = looked(saver)
    graph.invoke({"messages": [], "compact_request": "be short"}, thread())
    newest = values(graph)["segments"][-1]
    assert newest["trigger"] == "user"
    fork(saver, "t", "new", segment=newest["number"])
    assert values(graph, thread("new"))["compact_request"] is None


@pytest.mark.parametrize(
    ("new", "segment", "says"), [("t", 1, "named 't' already"), ("new", 9, "has no segment 9; its compactions: 1, 2")]
)
def test_a_fork_that_cannot_be_made_says_why(saver: Any, new: str, segment: int, says: str) -> None:
    looked(saver)
    with pytest.raises(ThreadError, match=says):
        fork(saver, "t", new, segment)


def test_where_the_checkpoint_before_a_compaction_is_gone_its_summary_stands(saver: Any) -> None:
    graph = looked(saver)
    first = values(graph)["segments"][0]
    with saver.cursor() as cursor:
        cursor.execute("DELETE FROM checkpoints WHERE checkpoint_id = ?", (first["compacted_from"],))
    found = transcript(saver, "t")
    assert sources(found).count("compaction_summary") == 1
    assert isinstance(found[-1], AIMessage)
    with pytest.raises(ThreadError, match="no longer stored"):
        fork(saver, "t", "new", segment=1)
