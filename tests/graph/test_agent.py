"""What a user composes: `create_agent` and `build_agent`, their options, and the graph that comes out."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.store.memory import InMemoryStore

from agents import Ask, history, plan, results, shape, thread, todo
from longthread.graph import AgentState, CompactionConfig, ScriptedChatModel, build_agent, create_agent
from longthread.graph.scripted import call, say
from longthread.tools.errors import SettingsError, WorkspaceError

Saver = BaseCheckpointSaver[Any]
NODES = {"inject_reminder", "pre_request_check", "call_model", "execute_tools"}


@tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


def test_it_works_on_real_files(ask: Ask, saver: Saver, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    model = ScriptedChatModel(
        [
            say("I plan first.", plan(todo("fix", "mend add", "in_progress"))),
            [call("list_files"), call("grep", pattern="return"), call("read_file", path="sums.py")],
            call("edit_file", path="sums.py", old="a - b", new="a + b"),
            plan(todo("fix", "mend add", "completed")),
            "add is mended.",
        ]
    )
    found = ask(create_agent(model, workspace=folder, checkpointer=saver), "mend add")
    assert (folder / "sums.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert found["todos"] == [todo("fix", "mend add", "completed")]
    assert not [m for m in found["messages"] if getattr(m, "status", None) == "error"]
    tracker = create_agent(model, workspace=folder, checkpointer=saver).get_state(thread()).values["tracker"]
    assert [(record["path"], record["action"], record["known"]) for record in tracker] == [("sums.py", "edited", True)]


def test_without_a_workspace_there_are_todo_write_and_the_users_tools_only(ask: Ask) -> None:
    found = ask(create_agent(ScriptedChatModel([call("read_file", path="a"), "Done."]), [echo]), "go")["messages"]
    assert "try one of [todo_write, echo]" in found[2].content


def test_the_system_prompt_is_first_in_every_request_and_never_in_the_messages(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([call("echo", text="x"), "One.", "Two."])
    graph = create_agent(model, [echo], system_prompt="Be brief.", checkpointer=saver)
    ask(graph, "go")
    ask(graph, "go on")
    for request in model.requests:
        assert [m.content for m in request if isinstance(m, SystemMessage)] == ["Be brief."]
        assert isinstance(request[0], SystemMessage)
    assert not [m for m in history(graph) if isinstance(m, SystemMessage)]


@pytest.mark.parametrize(
    "given",
    ["go", ("user", "go"), {"role": "user", "content": "go"}, HumanMessage("go"), ["go"], [HumanMessage("go")]],
    ids=["text", "pair", "dict", "message", "list of text", "list"],
)
def test_a_message_may_be_given_in_every_form_that_langchain_knows(ask: Ask, saver: Saver, given: Any) -> None:
    graph = create_agent(ScriptedChatModel(["Done.", "Again."]), checkpointer=saver)
    ask(graph, {"messages": deepcopy(given)})
    found = ask(graph, {"messages": deepcopy(given)})["messages"]
    assert history(graph) == found
    assert [m.content for m in found] == ["go", "Done.", "go", "Again."]
    assert len({m.id for m in found}) == 4


def test_a_plain_function_is_a_tool_too(ask: Ask) -> None:
    def double(n: int) -> int:
        """Twice n."""
        return 2 * n

    graph = create_agent(ScriptedChatModel([call("double", n=4), "8."]), [double])
    assert results(ask(graph, "go")["messages"]) == ["8"]


def test_the_builder_takes_nodes_of_the_users_own(ask: Ask) -> None:
    class WithNote(AgentState):
        note: str

    builder = build_agent(ScriptedChatModel(["Done."]), state_schema=WithNote)
    assert isinstance(builder, StateGraph)
    builder.add_node("note", lambda state: {"note": state["messages"][-1].content})
    builder.add_edge("call_model", "note")
    assert ask(builder.compile(), "go")["note"] == "Done."


def test_a_graph_without_compaction_has_no_such_node() -> None:
    model = ScriptedChatModel(["Done."])
    assert set(build_agent(model, compaction=None).nodes) == NODES
    assert set(build_agent(model).nodes) == NODES | {"compact"}
    assert set(build_agent(model, compaction=CompactionConfig()).nodes) == NODES | {"compact"}


@pytest.mark.parametrize("compaction", ["auto", None])
def test_the_graph_can_be_drawn(compaction: Any) -> None:
    drawn = create_agent(ScriptedChatModel([]), compaction=compaction).get_graph().draw_mermaid()
    assert all(name in drawn for name in NODES)
    assert ("compact" in drawn) is (compaction == "auto")


def test_the_name_is_the_graphs() -> None:
    assert create_agent(ScriptedChatModel([])).name == "longthread"
    assert create_agent(ScriptedChatModel([]), name="researcher").name == "researcher"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tools": [echo, echo]}, "'echo'"),
        ({"compaction": "often"}, "'often'"),
        ({"compaction": CompactionConfig(compact_threshold=1_000)}, "= 22000 is not below the smallest threshold 1000"),
        ({"max_requests": 0}, "max_requests=0"),
        ({"max_result_tokens": 0}, "max_result_tokens=0"),
        ({"max_requests": True}, "max_requests=True must be a whole number"),
        ({"max_requests": 2.5}, "max_requests=2.5"),
        ({"max_result_tokens": None}, "max_result_tokens=None"),
        ({"state_schema": dict}, "messages"),
        ({"allow_commands": False}, "allow_commands=False must be one of 'ask', 'always', 'never'"),
        ({"allow_commands": None}, "allow_commands=None"),
        ({"allow_commands": "NEVER"}, "allow_commands='NEVER'"),
        ({"system_role": "developer"}, "system_role='developer' must be one of 'auto', 'system', 'user'"),
        ({"system_prompt": ["Be kind."]}, "system_prompt="),
        ({"reminders": {"idle_requests": 3}}, "must be a ReminderConfig"),
        ({"reminders": None}, "reminders=None"),
        ({"name": " "}, "name=' '"),
        ({"name": "a:b"}, "name='a:b'"),
        ({"name": "a|b"}, "has no ':' or"),
        ({"tools": "echo"}, "tools='echo' must be a list"),
        ({"tools": echo}, "put a single one into a list"),
        ({"tools": ["echo"]}, "tools has 'echo', which is neither"),
        ({"never_pruned": "echo"}, "never_pruned='echo' must be a list"),
        ({"never_pruned": ["ecco"]}, "never_pruned names 'ecco', which is no tool; the tools are todo_write"),
        ({"tracked_tools": ["echo"]}, "tracked_tools="),
        ({"tracked_tools": {"ecco": "path"}}, "tracked_tools names 'ecco'"),
        ({"tools": [echo], "tracked_tools": {"echo": "file"}}, "'file' names no argument of the tool; it has text"),
        ({"tools": [echo], "tracked_tools": {"echo": ("text", "wrote")}}, "the action 'wrote'; use one of 'read'"),
        ({"tools": [echo], "tracked_tools": {"echo": ("text",)}}, "or a pair"),
    ],
)
def test_an_option_that_cannot_work_is_refused_when_the_graph_is_built(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        create_agent(ScriptedChatModel([]), **options)


def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="nowhere"):
        create_agent(ScriptedChatModel([]), workspace=tmp_path / "nowhere")


def test_a_tool_named_as_one_of_ours_is_refused(tmp_path: Path) -> None:
    @tool
    def read_file(path: str) -> str:
        """Read."""
        return path

    with pytest.raises(SettingsError, match="'read_file'; rename your own"):
        create_agent(ScriptedChatModel([]), [read_file], workspace=tmp_path)


@dataclass
class Context:
    user: str


def test_tools_get_context_and_store(ask: Ask) -> None:
    @tool
    def who(runtime: ToolRuntime[Context, Any]) -> str:
        """Who asks?"""
        assert runtime.store is not None
        item = runtime.store.get(("names",), runtime.context.user)
        return str(item and item.value["name"])

    store = InMemoryStore()
    store.put(("names",), "u1", {"name": "Ann"})
    graph = create_agent(ScriptedChatModel([call("who"), "Done."]), [who], context_schema=Context, store=store)
    assert results(ask(graph, "go", context=Context("u1"))["messages"]) == ["Ann"]


def test_messages_in_the_state_are_never_changed_in_place(ask: Ask, saver: Saver) -> None:
    seen: list[tuple[Any, Any]] = []

    def watch(request: list[Any]) -> str:
        seen.append((request, deepcopy(request)))
        return "Done."

    odd = AIMessage("", id="x", tool_calls=[{"name": "echo", "args": {"text": "a"}, "id": "", "type": "tool_call"}])
    given = [HumanMessage("go", id="h"), odd, SystemMessage("", id="s"), HumanMessage("and?", id="i")]
    copies = deepcopy(given)
    model = ScriptedChatModel([plan(todo()), call("echo", text="\x00"), "One.", watch])
    graph = create_agent(model, [echo], checkpointer=saver, system_role="user")
    ask(graph, {"messages": given})
    before = history(graph)
    kept = deepcopy(before)
    ask(graph, "go on")
    assert given == copies
    assert before == kept
    assert history(graph)[: len(kept)] == kept
    assert all(now == then for now, then in seen)


def test_every_state_in_between_holds_plain_values_and_messages(ask: Ask, saver: Saver, tmp_path: Path) -> None:
    model = ScriptedChatModel([[plan(todo()), call("write_file", path="a.txt", content="x")], "Done."])
    graph = create_agent(model, workspace=tmp_path, checkpointer=saver)
    ask(graph, "go")
    for state in graph.get_state_history(thread()):
        others = {key: value for key, value in state.values.items() if key != "messages"}
        assert is_plain(others), others


def is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(item) for key, item in value.items())
    return all(map(is_plain, value)) if isinstance(value, list) else isinstance(value, str | int | float | bool | None)


def test_a_thread_without_a_message_does_not_fail(ask: Ask) -> None:
    graph = create_agent(ScriptedChatModel(["Hello."]))
    assert [m.content for m in ask(graph, {"messages": []})["messages"]] == ["Hello."]


def test_a_wish_to_compact_is_gone_after_the_turn_where_there_is_no_compaction(ask: Ask, saver: Saver) -> None:
    graph = create_agent(ScriptedChatModel(["Done."]), compaction=None, checkpointer=saver)
    ask(graph, {"messages": [("user", "go")], "compact_request": ""})
    assert graph.get_state(thread()).values.get("compact_request") is None


def test_the_same_script_gives_the_same_history_each_time(ask: Ask) -> None:
    def run() -> list[Any]:
        model = ScriptedChatModel([[plan(todo()), call("echo", text="a")], call("echo", text="b"), "Done."])
        return shape(ask(create_agent(model, [echo]), "go")["messages"])

    assert run() == run()
