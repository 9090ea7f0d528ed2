"""What is stored of threads, read without a model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from longthread.graph import create_agent, open_saver
from longthread.graph.scripted import ScriptedChatModel, call, say
from longthread.graph.threads import config_of, describe, list_threads, thread_names
from longthread.nodes.settings import CompactionConfig
from longthread.tools.errors import RequestLimitReached, ThreadNotFound

TODOS = [{"id": "1", "content": "dig", "status": "in_progress"}]
SMALL = CompactionConfig(
    compact_threshold=3_000,
    retained_tokens=100,
    auto_read_budget=100,
    summary_max_tokens=300,
    pinned_user_tokens=100,
)
SUMMARY = "\n".join(
    f"## {name}\nnothing"
    for name in ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
)
Saver = BaseCheckpointSaver[Any]


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    opened = open_saver(tmp_path / "threads.db")
    yield opened
    opened.close()


def talk(saver: Saver, thread: str, *steps: Any, text: str = "hello", **options: Any) -> None:
    agent = create_agent(ScriptedChatModel([*steps]), checkpointer=saver, **options)
    agent.invoke({"messages": text}, config_of(thread, metadata={"model": "scripted"}))


def test_threads_are_listed_the_last_used_first(saver: Saver) -> None:
    assert list_threads(saver) == []
    for name in ("a", "b", "c", "a"):
        talk(saver, name, say("", call("todo_write", todos=TODOS)), "Dug.", text=f"dig\n for {name}")
    infos = list_threads(saver)
    assert [info.thread for info in infos] == ["a", "c", "b"]
    assert [info.title for info in infos] == ["dig for a", "dig for c", "dig for b"]
    assert infos[0].todos == TODOS
    assert infos[0].status == "done"
    assert infos[0].metadata["model"] == "scripted"
    assert infos[0].occupancy is not None


def test_a_thread_is_described_with_its_messages(saver: Saver) -> None:
    talk(saver, "t", "Hello yourself.")
    details = describe(saver, "t")
    assert [message.content for message in details.messages] == ["hello", "Hello yourself."]
    assert details.segments == []
    assert details.pending == []


def test_an_unfinished_thread_names_what_it_goes_on_with(saver: Saver) -> None:
    with pytest.raises(RequestLimitReached):
        talk(saver, "t", say("", call("todo_write", todos=TODOS)), "Dug.", max_requests=1)
    details = describe(saver, "t")
    assert details.info.status == "unfinished"
    assert details.pending == ["pre_request_check"]


def test_a_thread_that_waits_for_an_approval_shows_the_question(saver: Saver, tmp_path: Path) -> None:
    talk(saver, "t", say("", call("run_command", command="ls")), workspace=tmp_path, allow_commands="ask")
    details = describe(saver, "t")
    assert details.info.status == "waiting"
    [question] = details.questions
    assert question.value["action_requests"][0]["args"]["command"] == "ls"


def test_a_compacted_thread_keeps_its_title_and_lists_its_segment(saver: Saver) -> None:
    worker = ScriptedChatModel([call("write_summary", text=SUMMARY)], prefix="worker")
    talk(saver, "t", "word " * 3_000, text="count\nthe words", compaction=SMALL, worker_model=worker)
    details = describe(saver, "t")
    assert details.info.segments == len(details.segments) == 1
    assert details.segments[0]["trigger"] == "compact_threshold"
    assert details.info.title == "count the words"


def test_the_worker_is_no_thread_of_its_own(saver: Saver) -> None:
    test_a_compacted_thread_keeps_its_title_and_lists_its_segment(saver)
    assert thread_names(saver) == ["t"]


def test_an_unknown_thread_is_an_error_with_names_like_it(saver: Saver) -> None:
    talk(saver, "mend-the-test-1234", "Mended.")
    with pytest.raises(ThreadNotFound, match="did you mean 'mend-the-test-1234'"):
        describe(saver, "mend")
    with pytest.raises(ThreadNotFound, match="`longthread threads` lists them"):
        describe(saver, "zzz")


def test_a_graph_of_ones_own_describes_its_threads_too(saver: Saver) -> None:
    agent = create_agent(ScriptedChatModel(["Hello."]), checkpointer=saver)
    agent.invoke({"messages": "hi"}, config_of("t"))
    assert describe(agent, "t") == describe(saver, "t")
