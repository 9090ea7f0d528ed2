"""`run_command` asks through an interrupt; what the user decides is what is run."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from agents import Ask, Graph, history
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import call

Saver = BaseCheckpointSaver[Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def agent(folder: Path, saver: Saver, *calls: Any, allow: Any = "ask") -> Graph:
    model = ScriptedChatModel([list(calls), "Done."])
    return create_agent(model, workspace=folder, allow_commands=allow, checkpointer=saver)


def decide(**decision: Any) -> Command[Any]:
    return Command(resume={"decisions": [decision]})


def told(graph: Graph) -> list[ToolMessage]:
    return [message for message in history(graph) if isinstance(message, ToolMessage)]


MAKE = call("run_command", command="touch made")


def test_the_question_has_the_shape_of_langchains_middleware(ask: Ask, saver: Saver, folder: Path) -> None:
    [question] = ask(agent(folder, saver, MAKE), "go")["__interrupt__"]
    [action], [review] = question.value["action_requests"], question.value["review_configs"]
    assert (action["name"], action["args"]["command"]) == ("run_command", "touch made")
    assert review == {"action_name": "run_command", "allowed_decisions": ["approve", "edit", "reject"]}
    assert not (folder / "made").exists()


def test_an_approved_command_is_run(ask: Ask, saver: Saver, folder: Path) -> None:
    graph = agent(folder, saver, MAKE)
    ask(graph, "go")
    assert ask(graph, decide(type="approve"))["messages"][-1].content == "Done."
    assert (folder / "made").exists()
    assert told(graph)[0].status == "success"


def test_an_edited_command_is_run_as_edited_and_the_model_is_told(ask: Ask, saver: Saver, folder: Path) -> None:
    graph = agent(folder, saver, MAKE)
    ask(graph, "go")
    ask(graph, decide(type="edit", edited_action={"name": "run_command", "args": {"command": "touch other"}}))
    assert [path.name for path in folder.iterdir()] == ["other"]
    assert "touch other" in str(told(graph)[0].content)


def test_a_rejected_command_is_not_run_and_the_model_reads_why(ask: Ask, saver: Saver, folder: Path) -> None:
    graph = agent(folder, saver, MAKE)
    ask(graph, "go")
    ask(graph, decide(type="reject", message="not in this folder"))
    assert not list(folder.iterdir())
    assert told(graph)[0].status == "error"
    assert "not in this folder" in str(told(graph)[0].content)


def test_an_answer_that_is_no_decision_runs_nothing(ask: Ask, saver: Saver, folder: Path) -> None:
    graph = agent(folder, saver, MAKE)
    ask(graph, "go")
    ask(graph, Command(resume="yes"))
    assert not list(folder.iterdir())
    assert told(graph)[0].status == "error"


def test_two_commands_are_asked_for_one_after_the_other_and_reads_are_not_held_up(
    ask: Ask, saver: Saver, folder: Path
) -> None:
    second = call("run_command", command="cp made copied")
    graph = agent(folder, saver, call("list_files"), MAKE, second, call("list_files"))
    [first] = ask(graph, "go")["__interrupt__"]
    assert first.value["action_requests"][0]["args"]["command"] == "touch made"
    assert [message.name for message in told(graph)] == ["list_files"]
    [then] = ask(graph, decide(type="approve"))["__interrupt__"]
    assert then.value["action_requests"][0]["args"]["command"] == "cp made copied"
    ask(graph, decide(type="approve"))
    assert sorted(path.name for path in folder.iterdir()) == ["copied", "made"]
    assert "copied" in str(told(graph)[-1].content)


def test_a_new_message_instead_of_a_decision_drops_the_command(ask: Ask, saver: Saver, folder: Path) -> None:
    graph = agent(folder, saver, MAKE)
    ask(graph, "go")
    assert ask(graph, "forget it")["messages"][-1].content == "Done."
    assert not list(folder.iterdir())


def test_commands_that_are_always_allowed_are_not_asked_for(ask: Ask, saver: Saver, folder: Path) -> None:
    ask(agent(folder, saver, MAKE, allow="always"), "go")
    assert (folder / "made").exists()


def test_commands_are_off_unless_enabled(ask: Ask, saver: Saver, folder: Path) -> None:
    graph = agent(folder, saver, MAKE, allow="never")
    ask(graph, "go")
    assert told(graph)[0].status == "error"
    assert not list(folder.iterdir())
