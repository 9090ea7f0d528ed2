"""longthread and its peers, each over the same session, with 20 000 tokens as trigger and a tail of 4 000."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool, ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from longthread.graph import CompactionConfig, create_agent
from longthread.graph.parts import all_tools
from longthread.graph.scripted import call, scripted_tokens
from memory.player import Player
from memory.session import Step, write_files
from memory.summarizers import Facts, plain_summarizer, worker

TRIGGER = 20_000
TAIL = 4_000
Contestant = Callable[[Facts, Path], Player]
CONFIG: Any = {"configurable": {"thread_id": "session"}, "recursion_limit": 500}


def longthread(facts: Facts, folder: Path) -> Player:
    """longthread with its defaults but for trigger and tail."""
    player = _player(folder, lambda step: call("todo_write", todos=step.args["todos"]))

    run_tests = _run_tests(player)
    player.schema_tokens = _schemas(all_tools([run_tests], folder, {}))
    agent = create_agent(
        player.model(),
        [run_tests],
        workspace=folder,
        compaction=CompactionConfig(compact_request_threshold=TRIGGER, retained_tokens=TAIL),
        worker_model=worker(facts),
        checkpointer=InMemorySaver(),
    )
    return _played(player, agent)


def langchain(facts: Facts, folder: Path) -> Player:
    """LangChain's agent with its `SummarizationMiddleware` as shipped."""
    middleware = import_module("langchain.agents.middleware")
    made = middleware.SummarizationMiddleware(
        model=plain_summarizer(facts), trigger=("tokens", TRIGGER), keep=("tokens", TAIL)
    )
    return _peer(made, folder)


def deepagents(facts: Facts, folder: Path) -> Player:
    """LangChain's agent with the middleware of deepagents, set up as `create_deep_agent` does but for the sizes."""
    summarization = import_module("deepagents.middleware.summarization")
    backends = import_module("deepagents.backends")
    made = summarization.SummarizationMiddleware(
        model=plain_summarizer(facts),
        backend=backends.FilesystemBackend(root_dir=mkdtemp(), virtual_mode=True),
        trigger=("tokens", TRIGGER),
        keep=("tokens", TAIL),
        trim_tokens_to_summarize=None,
    )
    return _peer(made, folder)


def _player(folder: Path, todo_call: Callable[[Step], ToolCall]) -> Player:
    write_files(folder)
    return Player(folder, todo_call)


def _peer(summarization: Any, folder: Path) -> Player:
    middleware, agents = import_module("langchain.agents.middleware"), import_module("langchain.agents")
    player = _player(folder, _write_todos)
    kit, todos = _file_tools(player), middleware.TodoListMiddleware()
    player.schema_tokens = _schemas([*kit, *todos.tools])
    agent = agents.create_agent(player.model(), kit, middleware=[todos, summarization], checkpointer=InMemorySaver())
    return _played(player, agent)


def _write_todos(step: Step) -> ToolCall:
    items = [{"content": item["content"], "status": item["status"]} for item in step.args["todos"]]
    return call("write_todos", todos=items)


def _file_tools(player: Player) -> list[BaseTool]:
    """The peers' file tools: what longthread's own would say."""

    @tool
    def read_file(path: str) -> str:
        """Show a text file."""
        lines = (player.workspace / path).read_text().splitlines()
        return "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1))

    @tool
    def edit_file(path: str, old: str, new: str) -> str:
        """Replace a text in a file."""
        file = player.workspace / path
        file.write_text(file.read_text().replace(f"{old}\n", f"{new}\n"))
        return f"edited {path} (+1 -1)\n-{old}\n+{new}"

    return [read_file, edit_file, _run_tests(player)]


def _run_tests(player: Player) -> BaseTool:
    @tool
    def run_tests(target: str) -> str:
        """Run tests."""
        output, failed = player.test_output()
        if failed:
            raise ToolException(output)
        return output

    run_tests.handle_tool_error = True
    return run_tests


def _schemas(tools: Sequence[BaseTool]) -> int:
    return scripted_tokens([], [convert_to_openai_tool(each) for each in tools])


def _played(player: Player, agent: Any) -> Player:
    for prompt in player.prompts():
        agent.invoke({"messages": [("user", prompt)]}, CONFIG)
    _assert_mended(player)
    return player


def _assert_mended(player: Player) -> None:
    mended = [path for path in player.ledger.edited if " + 1\n" in (player.workspace / path).read_text()]
    assert mended == player.ledger.edited, "an edit of the script was refused"
