"""`langgraph dev` serves the agent over its HTTP API, driven with the official client; the model is the HTTP stand-in.

The server watches for calls that block its event loop and fails the run that makes one.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from dev_server import DevServer
from longthread.graph.remote import aremote_transcript, remote_transcript
from openai_server import Answer, OpenAIServer, Reply
from openai_wire import Call

pytestmark = pytest.mark.slow
GRAPH = "longthread"
SECTIONS = ("Completed Tasks", "Active Task", "Key Decisions", "User Directives", "Current Work")
SUMMARY = "\n".join(f"## {section}\n- Much was read." for section in SECTIONS)
WORKER: Answer = Reply(calls=(("mark_read_required", {"path": "notes.txt"}), ("write_summary", {"text": SUMMARY})))
LONG = "".join(f"Line {n} of an answer that takes room in the window.\n" for n in range(250))
QUESTIONS = ["Where is the key? Never move it.", "And the first part?", "The second?", "The third?", "Is that all?"]


@dataclass(frozen=True)
class Served:
    """A running server, the model behind it, and the folder it runs in."""

    server: DevServer
    client: SyncLangGraphClient
    model: OpenAIServer
    folder: Path

    def script(self, *answers: Answer) -> None:
        """What the model answers from now on; the worker's requests get its own answer."""
        left = iter(answers)
        self.model.answer_by(lambda body: WORKER if is_workers(body) else next(left))


def is_workers(body: dict[str, Any]) -> bool:
    return any(tool["function"]["name"] == "write_summary" for tool in body.get("tools", []))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    (folder / "files" / "part").mkdir(parents=True)
    (folder / "files" / "notes.txt").write_text("The key is under the mat.\n")
    (folder / "files" / "part" / "inner.txt").write_text("Only this part.\n")
    settings = {"LONGTHREAD_WORKSPACE": str(folder / "files"), "LONGTHREAD_ALLOW_COMMANDS": "ask"}
    with (
        OpenAIServer() as model,
        DevServer(folder, OPENAI_BASE_URL=model.base_url, **settings) as server,
        get_sync_client(url=server.url, timeout=30) as client,
    ):
        yield Served(server, client, model, folder)


def user(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def read(path: str = "notes.txt") -> Reply:
    return Reply(calls=(("read_file", {"path": path}),))


def contents(values: Any) -> list[str]:
    return [str(message["content"]) for message in values["messages"]]


def test_a_run_answers(served: Served) -> None:
    served.script("Good morning.")
    values = served.client.runs.wait(None, GRAPH, input=user("Say good morning."))
    assert contents(values) == ["Say good morning.", "Good morning."]


def test_a_stream_brings_the_answer_token_by_token(served: Served) -> None:
    served.script("It is late already.")
    parts = served.client.runs.stream(None, GRAPH, input=user("How late is it?"), stream_mode="messages-tuple")
    tokens = [part.data[0]["content"] for part in parts if part.event == "messages"]
    assert [token for token in tokens if token] == ["It ", "is ", "late ", "already."]


def test_a_run_with_every_tool_blocks_nothing_and_asks_before_a_command(served: Served) -> None:
    thread = served.client.threads.create()["thread_id"]
    todos = [{"id": "1", "content": "look around", "status": "in_progress"}]
    looks: tuple[Call, ...] = (("todo_write", {"todos": todos}), ("list_files", {}), ("grep", {"pattern": "mat"}))
    write = ("write_file", {"path": "new/made.txt", "content": "made\n"})
    edit = ("edit_file", {"path": "new/made.txt", "old": "made", "new": "mended"})
    command = ("run_command", {"command": "cat new/made.txt"})
    served.script(Reply(calls=looks), read(), Reply(calls=(write, edit, command)), "All done.")
    served.client.runs.wait(thread, GRAPH, input=user("Look around, then make a file."))
    [asked] = served.client.threads.get_state(thread)["interrupts"]
    assert asked["value"]["action_requests"][0]["args"]["command"] == "cat new/made.txt"
    approval: Any = {"resume": {"decisions": [{"type": "approve"}]}}
    said = contents(served.client.runs.wait(thread, GRAPH, command=approval))
    assert said[-2:] == ["exit code 0\nmended", "All done."]
    assert not [text for text in said if text.startswith("Error")]


def test_a_run_that_was_cut_off_goes_on_where_it_was(served: Served) -> None:
    thread, sent = served.client.threads.create()["thread_id"], len(served.model.requests)
    served.script(read(), Reply("never heard", silent=True), "The mat.")
    run = served.client.runs.create(thread, GRAPH, input=user("Where is the key?"))
    while len(served.model.requests) < sent + 2:
        time.sleep(0.01)
    served.client.runs.cancel(thread, run["run_id"], wait=True, action="interrupt")
    assert served.client.threads.get_state(thread)["next"] == ["call_model"]
    values = served.client.runs.wait(thread, GRAPH, input=None)
    assert contents(values) == ["Where is the key?", "", "1\tThe key is under the mat.", "The mat."]
    assert len(served.model.requests) == sent + 3


def test_a_wish_to_compact_is_acted_on_and_seen(served: Served) -> None:
    thread = talked(served)
    modes: Any = ["custom", "messages-tuple"]
    parts = list(served.client.runs.stream(thread, GRAPH, input={"compact_request": ""}, stream_mode=modes))
    events = [part.data for part in parts if part.event == "custom"]
    assert [event["event"] for event in events] == ["compact_start", "compact_done"]
    assert events[1]["trigger"] == "user"
    assert events[1]["tokens_after"] < events[1]["tokens_before"]
    assert not [part for part in parts if part.event.startswith("messages")]
    values: Any = served.client.threads.get_state(thread)["values"]
    at: Any = {"checkpoint_ns": values["segments"][0]["worker_namespace"]}
    log: Any = served.client.threads.get_state(thread, checkpoint=at)["values"]
    assert [message["type"] for step in log["log"] for message in step] == ["ai", "tool", "tool"]


def talked(served: Served, context: dict[str, Any] | None = None) -> str:
    """A thread that was talked in for long, of about 10 000 tokens."""
    thread: str = served.client.threads.create()["thread_id"]
    served.script("That was all of it.")
    answers = ["Under the mat.", LONG, LONG, LONG]
    spoken = [part for turn in zip(QUESTIONS, answers, strict=False) for part in turn] + QUESTIONS[-1:]
    history: Any = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(spoken)]
    served.client.runs.wait(thread, assistant(served, context), input={"messages": history})
    return thread


def assistant(served: Served, context: dict[str, Any] | None) -> str:
    return served.client.assistants.create(GRAPH, context=context)["assistant_id"] if context else GRAPH


def test_an_assistants_thresholds_count_for_its_runs_alone(served: Served) -> None:
    compacted: Any = served.client.threads.get_state(talked(served, {"compact_request_threshold": 5_000}))["values"]
    usual: Any = served.client.threads.get_state(talked(served))["values"]
    assert [segment["trigger"] for segment in compacted["segments"]] == ["compact_request_threshold"]
    assert usual["segments"] == []


def test_an_assistants_workspace_is_a_folder_below_the_owners(served: Served) -> None:
    served.script(read("inner.txt"), read(str(served.folder / "files" / "notes.txt")), "Only one.")
    context = {"workspace": "part"}
    said = contents(served.client.runs.wait(None, GRAPH, input=user("Read both."), context=context))
    assert said[2] == "1\tOnly this part."
    assert "outside the workspace" in said[4]


def test_a_context_that_cannot_work_ends_the_run_with_the_rule(served: Served) -> None:
    parts = served.client.runs.stream(None, GRAPH, input=user("Hello"), context={"workspace": "/etc"})
    [error] = [part.data for part in parts if part.event == "error"]
    assert "workspace='/etc' in the context cannot be used: '/etc' is outside the workspace" in error["message"]


async def test_the_whole_conversation_is_read_over_all_segments(served: Served) -> None:
    thread = talked(served)
    for wish in ("", "mind the key"):
        served.client.runs.wait(thread, GRAPH, input={"compact_request": wish})
        served.script("Still under the mat.")
        served.client.runs.wait(thread, GRAPH, input=user(f"And now? {wish}"))
    async with get_client(url=served.server.url) as client:
        found = await aremote_transcript(client, thread)
    assert shape(found) == shape(remote_transcript(served.client, thread))
    said = [m.content for m in found if m.type == "human"]
    assert said == [*QUESTIONS, "And now? ", "And now? mind the key"]
    assert [m.content for m in found if m.type == "ai"][1:4] == [LONG] * 3
    assert len({m.id for m in found}) == len(found)


def shape(messages: list[AnyMessage]) -> list[Any]:
    return [(m.type, m.id) for m in messages]


def test_the_server_writes_nothing_but_its_own_folder(served: Served) -> None:
    found = {path.name for path in served.folder.iterdir()} - {"files", "server.log", "langgraph.json"}
    assert found <= {".langgraph_api"}
