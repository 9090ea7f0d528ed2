"""A run's LangSmith trace, as a local stand-in receives it on the wire."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime

from agents import Graph, ask_async, ask_sync, plan, thread, todo
from longthread.graph.agent import create_agent
from longthread.graph.scripted import ScriptedChatModel, call, say
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.tracing import in_short
from openai_server import OpenAIServer, Reply
from trace_server import Run, TraceServer, recorded

SECTIONS = ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
SUMMARY = "\n".join(f"## {section}\n- Much was read." for section in SECTIONS)
SMALL = CompactionConfig(
    compact_request_threshold=2_400,
    retained_tokens=400,
    auto_read_budget=700,
    summary_max_tokens=300,
    pinned_user_tokens=100,
    prune_protected_tokens=20_000,
)
SHOW_ENVIRONMENT = Reply(calls=(("run_command", {"command": "env"}),))
LOOP = ["inject_reminder", "pre_request_check", ("call_model", ["ScriptedChatModel"])]


def compacting(folder: Path, steps: list[Any] | None = None) -> Graph:
    """An agent that reads five files and compacts before its sixth request."""
    for n in range(6):
        (folder / f"f{n}.py").write_text("".join(f"def f{n}_{k}(): return {k}\n" for k in range(60)))
    steps = steps or [call("read_file", path=f"f{n}.py") for n in range(5)]
    worker = ScriptedChatModel(
        [
            [call("read_file", path="f4.py")],
            [call("mark_read_required", path="f4.py"), call("write_summary", text=SUMMARY)],
        ],
        prefix="worker",
    )
    model = ScriptedChatModel([*steps, "Done."])
    return create_agent(
        model, workspace=folder, worker_model=worker, compaction=SMALL, checkpointer=InMemorySaver(), name="reader"
    )


@pytest.mark.parametrize("ask", [ask_sync, ask_async])
def test_a_trace_shows_every_step_and_the_worker_as_one_subtree(tmp_path: Path, ask: Any) -> None:
    graph = compacting(tmp_path)
    with recorded() as traces:
        ask(graph, "Read them.")
    [root] = traces.roots()
    name, steps = root.tree()
    assert name == "reader"
    assert steps[:5] == ["__start__", *LOOP, ("execute_tools", ["read_file"])]
    [(_, below)] = [step for step in steps if step[0] == "compact"]
    asked = ("call_worker", ["ScriptedChatModel"])
    assert below == [("compact worker", [asked, "run_worker_tools", asked, "run_worker_tools", "review_worker"])]


def test_a_run_is_found_by_its_thread_its_name_and_its_metadata(tmp_path: Path) -> None:
    config: RunnableConfig = {**thread("the-thread"), "run_name": "nightly", "metadata": {"customer": "ada"}}
    with recorded() as traces:
        ask_sync(compacting(tmp_path), "Read them.", config)
    [root] = traces.roots()
    assert root.name == "nightly"
    runs = [root, *root.all("call_model"), *root.all("ScriptedChatModel")]
    assert {(run.metadata["thread_id"], run.metadata["customer"]) for run in runs} == {("the-thread", "ada")}


def test_a_compaction_carries_trigger_and_tokens_as_metadata(tmp_path: Path) -> None:
    with recorded() as traces:
        ask_sync(compacting(tmp_path), "Read them.")
    [compaction] = traces.roots()[0].all("compact")
    found = compaction.metadata
    assert (found["event"], found["trigger"]) == ("compact_done", "compact_request_threshold")
    assert found["tokens_before"] > 2_400 > found["tokens_after"] > 0


def test_requests_carry_model_and_usage_of_the_worker_too(tmp_path: Path) -> None:
    with recorded() as traces:
        ask_sync(compacting(tmp_path), "Read them.")
    [root] = traces.roots()
    requests = root.all("ScriptedChatModel")
    assert len(root.all("compact")[0].all("ScriptedChatModel")) == 2
    assert {(r.metadata["ls_provider"], r.metadata["ls_model_type"]) for r in requests} == {("scripted", "chat")}
    assert all(run.metadata["usage_metadata"]["input_tokens"] > 0 for run in requests)


def shown(request: Run) -> list[tuple[str, str]]:
    """Kind and beginning of the messages that a request shows."""
    return [
        (message["id"][-1], str(message["kwargs"]["content"])[:20]) for message in request.body["inputs"]["messages"][0]
    ]


def test_a_request_shows_what_is_new_in_it_and_the_first_of_a_history_all(tmp_path: Path) -> None:
    graph = compacting(tmp_path)
    with recorded() as traces:
        ask_sync(graph, "Read them.")
    requests = [run for model in traces.roots()[0].all("call_model") for run in model.children]
    assert shown(requests[0]) == [("HumanMessage", "Read them.")]
    note = ("SystemMessage", "[The first 3 message")
    assert shown(requests[2]) == [note, ("AIMessage", ""), ("ToolMessage", "1\tdef f1_0(): return")]
    [after] = [request for request in map(shown, requests) if request[0] == ("SystemMessage", "[Summary of the conv")]
    assert len(after) > 3


def test_each_trace_of_a_thread_can_be_read_by_itself() -> None:
    graph = create_agent(ScriptedChatModel(["One.", "Two."]), checkpointer=InMemorySaver())
    with recorded() as traces:
        ask_sync(graph, "First?")
        ask_sync(graph, "Second?")
    second = traces.roots()[1].all("ScriptedChatModel")[0]
    assert [text for _, text in shown(second)] == ["First?", "One.", "Second?"]


def loops(count: int) -> Callable[[], Any]:
    """A run of so many loops, with 2 KB of result each."""
    steps = [call("look", n=n) for n in range(count)]

    @tool
    def look(n: int) -> str:
        """Look at one thing."""
        return f"{n} " * 700

    graph = create_agent(ScriptedChatModel([*steps, "Done."]), [look], compaction=None)
    return lambda: ask_sync(graph, "Look at all.")


def sent(work: Callable[[], Any]) -> int:
    """Bytes of the trace of a run."""
    with recorded() as traces:
        work()
    return sum(map(len, traces.raw))


def test_traces_grow_with_the_run_and_not_with_its_square() -> None:
    short, long = sent(loops(20)), sent(loops(40))
    assert long < 2.1 * short


def test_a_large_key_of_the_state_is_not_repeated_at_each_step() -> None:
    state = {"notes": "x" * 10_000, "table": {str(n): n for n in range(1_000)}, "list": [1] * 99, "small": {"a": 1}}
    assert in_short(state) == {
        "notes": "x" * 199 + "…",
        "table": "1000 items",
        "list": "99 items",
        "small": {"a": 1},
    }


def test_a_secret_in_the_context_is_in_no_trace(tmp_path: Path) -> None:
    @tool
    def unlock(runtime: ToolRuntime[Any, Any]) -> str:
        """Use the password."""
        return f"{len(runtime.context['password'])} characters"

    model = ScriptedChatModel([plan(todo()), say("", call("unlock")), "Done."])
    graph = create_agent(model, [unlock], workspace=tmp_path, context_schema=dict, checkpointer=InMemorySaver())
    with recorded() as traces:
        ask_sync(graph, "Unlock it.", context={"password": "planted-in-context"})
    assert b"18 characters" in b"".join(traces.raw)
    assert b"planted-in-context" not in b"".join(traces.raw)


# A traced process as a user starts it: settings in the environment, a real client of OpenAI's API.
PROGRAM = """
import sys, time
from longthread.graph import create_agent
graph = create_agent("openai:test", workspace=sys.argv[1], allow_commands="always")
began = time.perf_counter()
graph.invoke({"messages": [("user", "Show the environment.")]})
from langsmith import run_trees
print(time.perf_counter() - began, "client" if run_trees._CLIENT else "no client")
if run_trees._CLIENT:
    run_trees._CLIENT.flush(timeout=float(sys.argv[2]))
"""


def run_program(folder: Path, server: OpenAIServer, wait: str = "30", **settings: str) -> tuple[float, str]:
    """Seconds of the run inside the process, and whether it made a client for traces."""
    server.answer_by(lambda body: "Done." if body["messages"][-1]["role"] == "tool" else SHOW_ENVIRONMENT)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "OPENAI_BASE_URL": server.base_url, **settings}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder), wait]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    seconds, _, client = done.stdout.strip().partition(" ")
    return float(seconds), client


def test_a_secret_in_the_environment_is_in_no_trace(tmp_path: Path, openai_server: OpenAIServer) -> None:
    with TraceServer() as traces:
        on = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": traces.url, "LANGSMITH_API_KEY": "lsv2-planted"}
        run_program(tmp_path, openai_server, OPENAI_API_KEY="sk-planted", MY_PASSWORD="planted", **on)
        [root] = traces.roots()
    assert root.name == "longthread"
    assert root.all("ChatOpenAI")[0].metadata["ls_provider"] == "openai"
    assert b"HOME=" in b"".join(traces.raw)
    assert b"planted" not in b"".join(traces.raw)


def test_nothing_is_sent_or_made_when_tracing_is_off(tmp_path: Path, openai_server: OpenAIServer) -> None:
    with TraceServer() as traces:
        off = {"LANGSMITH_ENDPOINT": traces.url, "LANGSMITH_API_KEY": "lsv2-planted"}
        _, client = run_program(tmp_path, openai_server, **off)
    assert client == "no client"
    assert traces.requests == []


@pytest.mark.slow
def test_a_server_that_never_answers_costs_a_run_nothing(tmp_path: Path, openai_server: OpenAIServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hole:
        port = hole.getsockname()[1]
        on = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{port}", "LANGSMITH_API_KEY": "x"}
        began = time.monotonic()
        seconds, client = run_program(tmp_path, openai_server, wait="0", LANGSMITH_USE_DAEMON="true", **on)
    assert client == "client"
    assert seconds < 10
    assert time.monotonic() - began < 30


# What a command of `longthread` does around its work.
COMMAND = """
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.cli.traces import traces_sent
with traces_sent():
    create_agent(ScriptedChatModel(["Done."])).invoke({"messages": [("user", "Hello.")]})
"""


@pytest.mark.slow
def test_a_command_ends_soon_with_one_line_when_its_trace_server_is_gone(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    on = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{port}", "LANGSMITH_API_KEY": "x"}
    env, began = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **on}, time.monotonic()
    command = [sys.executable, "-c", COMMAND]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert time.monotonic() - began < 30
    assert done.stderr.startswith("longthread: warning: not traced: ")
    assert done.stderr.count("\n") == 1
