"""Runs that were stopped in the middle go on where they were, or make way for a new message."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

import killed
from agents import AT_ONCE, Ask, history, plan, results, shape, thread, todo
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import Step, broken, call
from validity import assert_valid

Saver = BaseCheckpointSaver[Any]


def run_killed(folder: Path, way: str) -> int:
    paths = os.pathsep.join([str(Path(killed.__file__).parent), *sys.path])
    done = subprocess.run([sys.executable, killed.__file__, str(folder), way], env={"PYTHONPATH": paths})
    return done.returncode


@pytest.mark.slow
@pytest.mark.parametrize("way", ["sync", "async"])
def test_after_a_kill_finished_calls_are_not_run_again(tmp_path: Path, way: str) -> None:
    assert [run_killed(tmp_path, way) for _ in range(3)] == [9, 9, 0]
    log = (tmp_path / "log").read_text().splitlines()
    assert sorted(log[:3]) == ["die", "work 1", "work 3"]
    assert log[3:] == ["die", "change 4", "change 5", "die", "die", "change 7"]
    messages = history(killed.agent(tmp_path))
    assert results(messages) == ["work 1", "survived", "work 3", "change 4", "change 5", "survived", "change 7"]
    assert messages[-1].content == "Done."


@pytest.mark.parametrize("death", [KeyboardInterrupt, SystemExit])
def test_a_tool_that_ends_the_process_is_the_only_one_to_run_again(
    ask: Ask, saver: Saver, death: type[BaseException]
) -> None:
    log: list[str] = []

    @tool
    def note(text: str) -> str:
        """Note."""
        log.append(text)
        return text

    @tool
    def stop() -> str:
        """Stop, the first time."""
        log.append("stop")
        if log.count("stop") == 1:
            raise death
        return "went on"

    model = ScriptedChatModel([call("note", text="a"), call("stop"), call("note", text="b"), "Done."])
    graph = create_agent(model, [note, stop], checkpointer=saver)
    with pytest.raises(death):
        ask(graph, "go", durability="sync")
    assert results(ask(graph, None)["messages"]) == ["a", "went on", "b"]
    assert log == ["a", "stop", "stop", "b"]
    assert model.calls == 4


@tool
def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


def agent(saver: Saver | None, *steps: Step, **options: Any) -> tuple[Any, ScriptedChatModel]:
    model = ScriptedChatModel(steps)
    return create_agent(model, [look], checkpointer=saver, retry=AT_ONCE, **options), model


TRANSIENT = [ConnectionError("reset"), TimeoutError("late"), broken("half an ans", ConnectionError("peer closed"))]


@pytest.mark.parametrize("error", TRANSIENT, ids=["connection", "timeout", "broken stream"])
def test_a_transient_error_of_the_model_is_tried_again(ask: Ask, error: Any) -> None:
    graph, model = agent(None, call("look"), error, error, "Done.")
    assert shape(ask(graph, "go")["messages"])[-1] == ("ai", "Done.", [], None)
    assert model.calls == 4


def test_a_transient_error_that_stays_ends_the_run_which_can_be_resumed(ask: Ask, saver: Saver) -> None:
    graph, model = agent(saver, call("look"), *[ConnectionError("reset")] * 3, "Done.")
    with pytest.raises(ConnectionError):
        ask(graph, "go")
    assert graph.get_state(thread()).next == ("call_model",)
    assert ask(graph, None)["messages"][-1].content == "Done."
    assert model.calls == 5


def test_an_error_that_is_not_transient_ends_the_run_at_once_and_nothing_is_lost(ask: Ask, saver: Saver) -> None:
    graph, model = agent(saver, call("look"), ValueError("unknown field"), "Done.")
    with pytest.raises(ValueError, match="unknown field"):
        ask(graph, "go")
    assert model.calls == 2
    assert graph.get_state(thread()).tasks != ()
    assert ask(graph, None)["messages"][-1].content == "Done."
    assert results(history(graph)) == ["seen 0"]
    assert graph.get_state(thread()).tasks == ()


def test_a_run_without_a_saver_passes_the_error_on(ask: Ask) -> None:
    graph, _ = agent(None, ValueError("unknown field"))
    with pytest.raises(ValueError, match="unknown field"):
        ask(graph, "go")


def test_by_default_a_transient_error_is_tried_again_too() -> None:
    model = ScriptedChatModel([TimeoutError("late"), "Done."])
    assert create_agent(model).invoke({"messages": "go"})["messages"][-1].content == "Done."


def interrupted(ask: Ask, saver: Saver, *after: Step) -> tuple[Any, ScriptedChatModel, list[str]]:
    """A run that ended in the second of three calls that change things."""
    log: list[str] = []

    @tool
    def change(n: int) -> str:
        """Change."""
        log.append(str(n))
        if n == 2:
            raise KeyboardInterrupt
        return f"changed {n}"

    model = ScriptedChatModel([plan(todo()), [call("change", f"c{n}", n=n) for n in (1, 2, 3)], *after])
    tracked: Any = {"change": ("n", "edited")}
    graph = create_agent(model, [change], tracked_tools=tracked, checkpointer=saver)
    with pytest.raises(KeyboardInterrupt):
        ask(graph, "go", durability="sync")
    return graph, model, log


def test_a_new_message_over_an_unfinished_run_gets_a_valid_request_that_marks_the_calls(ask: Ask, saver: Saver) -> None:
    graph, model, log = interrupted(ask, saver, "Stopped.", "Going on.")
    messages = ask(graph, "stop that")["messages"]
    assert messages[-1].content == "Stopped."
    assert_valid(model.requests[-1])
    told = [m for m in model.requests[-1] if isinstance(m, ToolMessage)][1:]
    assert [m.status for m in told] == ["success", "error", "error"]
    assert all("interrupted before it finished" in str(m.content) for m in told[1:])
    assert model.requests[-1][-2].content == "stop that"
    ask(graph, "and now?")
    assert_valid(model.requests[-1])
    assert log == ["1", "2"], "what was dropped is never run later"


def test_the_messages_of_the_interrupted_run_stay_as_they_were(ask: Ask, saver: Saver) -> None:
    graph, _, _ = interrupted(ask, saver, "Stopped.")
    before = history(graph)
    ask(graph, "stop that")
    assert history(graph)[: len(before)] == before


def test_two_new_messages_over_an_unfinished_run_are_both_answered(ask: Ask, saver: Saver) -> None:
    graph, model, log = interrupted(ask, saver, "Stopped.")
    ask(graph, {"messages": [HumanMessage("stop"), HumanMessage("please")]})
    assert_valid(model.requests[-1])
    assert [m.content for m in model.requests[-1] if m.type == "human"] == ["go", "stop", "please"]
    assert log == ["1", "2"]


def test_a_finished_run_that_is_resumed_asks_nothing(ask: Ask, saver: Saver) -> None:
    graph, model = agent(saver, "Done.")
    first = ask(graph, "go")["messages"]
    assert ask(graph, None)["messages"] == first
    assert model.calls == 1


def test_a_fork_goes_on_from_an_earlier_state(ask: Ask, saver: Saver) -> None:
    graph, _ = agent(saver, call("look", n=1), call("look", n=2), "Done.", call("look", n=3), "Done differently.")
    ask(graph, "go")
    early = [s for s in graph.get_state_history(thread()) if s.next == ("call_model",)][1]
    assert results(ask(graph, None, early.config)["messages"]) == ["seen 1", "seen 3"]
    assert history(graph)[-1].content == "Done differently."


def test_threads_do_not_see_one_another(ask: Ask, saver: Saver) -> None:
    graph, _ = agent(saver, plan(todo()), "One.", "Two.")
    ask(graph, "go", thread("one"))
    found = ask(graph, "go", thread("two"))
    assert [m.content for m in found["messages"]] == ["go", "Two."]
    assert found["todos"] == []
