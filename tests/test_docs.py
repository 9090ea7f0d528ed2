"""The pages in `docs/` say what the code says: settings, graph, events, state; and the API pages build."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import tiktoken
from langchain_core.utils.function_calling import convert_to_openai_tool

import api_pages
import longthread.graph
import settings_page
from longthread.graph import AgentState, ScriptedChatModel, create_agent
from longthread.nodes.events import EventName
from longthread.nodes.history.speakers import OWN_SOURCES
from longthread.nodes.state import AgentInput, AgentOutput, Outcome, SegmentRecord, Trigger
from longthread.tools.todo import todo_write
from longthread.tools.workspace_tools import workspace_tools
from markdown_blocks import blocks

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def rows(text: str) -> dict[str, list[str]]:
    """The table rows of a page by each name in backticks in their first cell."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        found |= dict.fromkeys(re.findall(r"`([\w]+)`", cells[0] if cells else ""), cells)
    return found


def test_the_settings_page_is_what_the_code_makes() -> None:
    assert page("settings") == settings_page.page(), "run: python tests/support/settings_page.py"


def test_the_graph_is_drawn_from_the_code() -> None:
    drawn = create_agent(ScriptedChatModel([])).get_graph().draw_mermaid()
    [shown] = [block.text for block in blocks(page("concepts")) if block.language == "mermaid"]
    assert shown.split() == drawn.split()


def test_every_outcome_is_explained() -> None:
    assert set(get_args(Outcome)) <= set(rows(page("concepts")))


def test_every_event_is_listed_with_every_field() -> None:
    listed = rows(page("events"))
    assert set(get_args(EventName)) <= set(listed)
    for trigger in get_args(Trigger):
        assert f"`{trigger}`" in page("events")
    for event, given in emitted().items():
        assert set(re.findall(r"`(\w+)`", listed[event][2])) == given
        assert given <= set(listed)


def emitted() -> dict[str, set[str]]:
    """The events of the code and what each carries."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "nodes").rglob("*.py"))]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and node.keywords]
    emits = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "emit"]
    named = [call for call in emits if call.args and isinstance(call.args[0], ast.Constant)]
    found = {str(ast.literal_eval(call.args[0])): {word.arg for word in call.keywords if word.arg} for call in named}
    assert set(found) == set(get_args(EventName))
    found["compact_failed"] |= {"failures", "breaker_open"}  # passed on as a dict
    return found


def test_every_key_of_the_state_is_listed_with_its_way_in_and_out() -> None:
    listed = rows(page("state"))
    for key in set(AgentState.__annotations__) - {"remaining_steps"}:
        assert [listed[key][2] == "yes", listed[key][3] == "yes"] == [
            key in AgentInput.__annotations__,
            key in AgentOutput.__annotations__,
        ]
    assert set(get_type_hints(SegmentRecord)) <= set(listed)
    assert set(listed) >= OWN_SOURCES


def test_the_readme_says_what_the_schemas_cost(tmp_path: Path, o200k: tiktoken.Encoding) -> None:
    def cost(*tools: Any) -> int:
        return len(o200k.encode(json.dumps([convert_to_openai_tool(tool) for tool in tools])))

    said = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"**{cost(todo_write, *workspace_tools(tmp_path, 'ask'))} tokens**" in said
    assert f"by default, it is {cost(todo_write, *workspace_tools(tmp_path))};" in said
    assert f"alone is {cost(todo_write)}." in said


def test_the_readme_names_every_command() -> None:
    usage = subprocess.run([sys.executable, "-m", "longthread.graph.cli", "--help"], capture_output=True, text=True)
    commands = re.findall(r"^    (\w+) {2,}\w", usage.stdout.partition("COMMAND\n")[2], re.MULTILINE)
    said = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(commands) > 6
    assert [name for name in commands if f"longthread {name}" not in said and f"`{name}`" not in said] == []


@pytest.mark.slow
def test_the_api_pages_build_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", api_pages.__file__, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    shown = (tmp_path / "longthread" / "graph.html").read_text(encoding="utf-8")
    assert [name for name in longthread.graph.__all__ if f'id="{name}"' not in shown] == []
