"""A request is a prefix of the next one, and the same in every process."""

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import tool

from agents import Ask, ask_sync, history, plan, reminders, thread, todo
from longthread.graph import CompactionConfig, ReminderConfig, ScriptedChatModel, create_agent, open_saver
from longthread.graph.scripted import Step, broken, call, say
from validity import assert_valid

Role = Literal["system", "user"]
TURNS = ("plan the work", "go on", "and now the third part, 続けて", "finish it")
PRUNING = CompactionConfig(prune_protected_tokens=150, prune_min_savings=300)


@tool
def look(n: int) -> str:
    """Look at part n."""
    if n % 7 == 3:
        raise ValueError(f"part {n} is missing")
    return f"part {n}:\n" + "word " * (40 + n)


def script() -> list[Step]:
    """Four turns of eleven requests: plans, pairs of calls, failures, arguments that are no JSON, answers."""
    cut_off = say("")
    cut_off.invalid_tool_calls.append(invalid_tool_call(name="look", args='{"n": ', id="bad", error=None))
    steps: list[Step] = []
    for turn in range(len(TURNS)):
        steps += [say(f"turn {turn}", plan(todo("a"), todo("b", "x" * (turn + 1), "in_progress")))]
        steps += [[call("look", n=turn * 9 + n), call("look", n=n)] for n in range(8)]
        steps += [cut_off, f"That was turn {turn}."]
    return steps


def serialised(request: Sequence[BaseMessage]) -> str:
    """Role, content and calls of each message as an OpenAI-compatible server is sent them, a line each."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in convert_to_openai_messages(list(request)))


def agent(folder: Path, model: ScriptedChatModel, role: Role = "system", **options: Any) -> Any:
    settings = ReminderConfig(idle_requests=4)
    saver = open_saver(folder / "t.db")
    return create_agent(
        model, [look], system_prompt="Be brief.", reminders=settings, system_role=role, checkpointer=saver, **options
    )


@pytest.mark.parametrize("role", ["system", "user"])
def test_every_request_is_a_prefix_of_the_next_over_four_turns_and_a_restart(
    ask: Ask, tmp_path: Path, role: Role
) -> None:
    models = [ScriptedChatModel(script(), position="history") for _ in TURNS]
    for model, text in zip(models, TURNS, strict=True):
        ask(agent(tmp_path, model, role), text)
    requests = [request for model in models for request in model.requests]
    assert len(requests) == 44
    assert len(reminders(history(agent(tmp_path, models[0])))) == 11
    for shorter, longer in pairwise(map(serialised, requests)):
        assert longer.startswith(shorter)
        assert len(longer) > len(shorter)
    for request in requests:
        assert_valid(request)


def test_a_prune_step_is_the_only_break_and_comes_rarely(ask: Ask, tmp_path: Path) -> None:
    model = ScriptedChatModel(script())
    graph = agent(tmp_path, model, compaction=PRUNING)
    for text in TURNS:
        ask(graph, text)
    requests = list(map(serialised, model.requests))
    breaks = sum(not longer.startswith(shorter) for shorter, longer in pairwise(requests))
    states = list(graph.get_state_history(thread()))
    steps = {state.values.get("pruned_through") for state in states} - {None}
    assert breaks == len(steps)
    assert 1 <= breaks <= 10


def test_a_request_that_failed_is_made_again_byte_for_byte(ask: Ask, tmp_path: Path) -> None:
    model = ScriptedChatModel([plan(todo()), "Done.", broken("half an", ValueError("no")), "Going on."])
    graph = agent(tmp_path, model)
    ask(graph, "go")
    with pytest.raises(ValueError, match="no"):
        ask(graph, "go on")
    ask(graph, None)
    assert serialised(model.requests[-1]) == serialised(model.requests[-2])


DUMP = """
import sys
from pathlib import Path
from longthread.graph import ScriptedChatModel
import test_prefix
model = ScriptedChatModel(lambda request: RuntimeError("seen"))
try:
    test_prefix.agent(Path(sys.argv[1]), model, compaction=test_prefix.PRUNING).invoke(None, test_prefix.thread())
except RuntimeError:
    sys.stdout.buffer.write(test_prefix.serialised(model.requests[0]).encode())
"""


@pytest.mark.slow
@pytest.mark.parametrize("stop", [6, 11, 30])
def test_a_new_process_sends_the_same_request_byte_for_byte(tmp_path: Path, stop: int) -> None:
    model = ScriptedChatModel([*script()[:stop], RuntimeError("stop")])
    graph = agent(tmp_path, model, compaction=PRUNING)
    with pytest.raises(RuntimeError, match="stop"):
        _ = [ask_sync(graph, text) for text in TURNS]
    paths = ":".join([str(Path(__file__).parent), *sys.path])
    run = [sys.executable, "-c", DUMP, str(tmp_path)]
    dumped = subprocess.run(run, env={"PYTHONPATH": paths}, capture_output=True, check=True).stdout
    assert dumped.decode() == serialised(model.requests[-1])
