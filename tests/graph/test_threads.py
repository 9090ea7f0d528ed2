"""What is stored of threads, read without a model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from longthread.graph import create_agent, open_saver
from longthread.graph.lineage import reopen
from longthread.graph.scripted import ScriptedChatModel, call, say
from longthread.graph.threads import Graph, config_of, describe, list_threads, thread_names
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


def wished(saver: Saver, *steps: Any, **options: Any) -> Graph:
    """A graph with these steps, after a wish to compact over whatever stands in the thread."""
    agent = create_agent(ScriptedChatModel([*steps]), checkpointer=saver, compaction=SMALL, **options)
    agent.invoke({"messages": [], "compact_request": ""}, config_of("t", metadata={"model": "scripted"}))
    return agent


def test_a_wish_to_compact_over_an_unfinished_run_leaves_it_unfinished_and_it_goes_on(saver: Saver) -> None:
    with pytest.raises(ValueError, match="gone"):
        talk(saver, "t", ValueError("gone"))
    agent = wished(saver, "Hello yourself.")
    details = describe(saver, "t")
    assert (details.info.status, details.pending) == ("unfinished", [])
    assert [info.status for info in list_threads(saver)] == ["unfinished"]
    assert reopen(agent, "t")
    assert describe(saver, "t").info.metadata["model"] == "scripted"
    assert not reopen(agent, "t"), "it has something pending now"
    agent.invoke(None, config_of("t"))
    assert [message.content for message in describe(saver, "t").messages] == ["hello", "Hello yourself."]
    assert describe(saver, "t").info.status == "done"
    assert not reopen(agent, "t")


def test_a_call_that_waits_for_approval_is_asked_about_again_after_a_wish(saver: Saver, tmp_path: Path) -> None:
    asks: dict[str, Any] = {"workspace": tmp_path, "allow_commands": "ask"}
    talk(saver, "t", say("", call("run_command", command="ls")), compaction=SMALL, **asks)
    agent = wished(saver, "Listed.", **asks)
    assert describe(saver, "t").info.status == "unfinished"
    assert reopen(agent, "t")
    agent.invoke(None, config_of("t"))
    assert describe(saver, "t").info.status == "waiting"
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config_of("t"))
    assert describe(saver, "t").messages[-1].content == "Listed."


def test_a_call_that_had_begun_runs_again_after_a_wish(saver: Saver) -> None:
    begun: list[int] = []

    @tool
    def dig() -> str:
        """Dig."""
        begun.append(1)
        if len(begun) == 1:
            raise KeyboardInterrupt
        return "dug"

    with pytest.raises(KeyboardInterrupt):
        talk(saver, "t", say("", call("dig")), tools=[dig])
    agent = wished(saver, "Dug.", tools=[dig])
    assert reopen(agent, "t")
    assert describe(saver, "t").pending == ["execute_tools"]
    agent.invoke(None, config_of("t"))
    assert [m.content for m in describe(saver, "t").messages] == ["hello", "", "dug", "Dug."]


def test_results_that_are_the_answer_end_the_turn(saver: Saver) -> None:
    @tool(return_direct=True)
    def weather() -> str:
        """The weather."""
        return "rain"

    talk(saver, "t", say("", call("weather")), tools=[weather])
    assert describe(saver, "t").messages[-1].content == "rain"
    assert describe(saver, "t").info.status == "done"


def test_a_call_that_a_compaction_found_open_does_not_run_again(saver: Saver) -> None:
    @tool
    def dig() -> str:
        """Dig."""
        raise KeyboardInterrupt

    talk(saver, "t", "word " * 1_000)
    with pytest.raises(KeyboardInterrupt):
        talk(saver, "t", say("", call("dig")), tools=[dig], text="dig now")
    agent = wished(saver, "I see.", tools=[dig], worker_model=ScriptedChatModel([call("write_summary", text=SUMMARY)]))
    assert describe(saver, "t").info.segments == 1
    assert reopen(agent, "t")
    agent.invoke(None, config_of("t"))
    interrupted, answer = describe(saver, "t").messages[-2:]
    assert "was interrupted before it finished" in interrupted.text
    assert answer.text == "I see."
