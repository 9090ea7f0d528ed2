import json
from contextlib import suppress
from pathlib import Path

import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from longthread.tools.errors import WorkspaceError
from longthread.tools.todo import todo_write
from longthread.tools.workspace import Workspace
from longthread.tools.workspace_tools import workspace_tools
from tool_calls import Session

SNAPSHOT = Path(__file__).with_name("tool_schemas.json")


def schemas(root: Path) -> str:
    tools = [todo_write, *workspace_tools(root, "ask")]
    return json.dumps([convert_to_openai_tool(tool) for tool in tools], indent=2) + "\n"


def test_what_the_model_is_told_of_the_tools_is_as_reviewed(tmp_path: Path) -> None:
    assert schemas(tmp_path) == SNAPSHOT.read_text()


def test_all_schemas_together_take_at_most_1100_tokens(tmp_path: Path, o200k: tiktoken.Encoding) -> None:
    spaced = json.dumps(json.loads(schemas(tmp_path)))
    assert len(o200k.encode(spaced)) <= 1_100


def test_commands_are_off_unless_allowed(tmp_path: Path) -> None:
    names = ["read_file", "write_file", "edit_file", "list_files", "grep"]
    assert [tool.name for tool in workspace_tools(tmp_path)] == names
    assert [tool.name for tool in workspace_tools(Workspace(tmp_path), "always")] == [*names, "run_command"]


def test_what_changes_things_is_marked(tmp_path: Path) -> None:
    marked = {tool.name for tool in workspace_tools(tmp_path, "ask") if (tool.metadata or {}).get("mutates")}
    assert marked == {"write_file", "edit_file", "run_command"}


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="is not a folder"):
        workspace_tools(tmp_path / "missing")


@pytest.mark.parametrize(
    ("tool", "args", "nulls"),
    [
        ("read_file", {"path": "a.py"}, ("offset", "limit")),
        ("list_files", {}, ("path", "pattern")),
        ("grep", {"pattern": "x"}, ("path", "glob", "ignore_case", "context")),
        ("edit_file", {"path": "a.py", "old": "x", "new": "y"}, ("replace_all",)),
        ("run_command", {"command": "cat a.py"}, ("timeout",)),
    ],
)
def test_null_for_an_optional_argument_counts_as_left_out(
    tmp_path: Path, tool: str, args: dict[str, str], nulls: tuple[str, ...]
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    agent = Session(workspace_tools(tmp_path, "always"))
    agent.text("read_file", path="a.py")
    shown = agent.message(tool, **args, **dict.fromkeys(nulls))
    (tmp_path / "a.py").write_text("x = 1\n")
    agent.text("read_file", path="a.py")
    assert shown.content == agent.text(tool, **args)
    assert shown.status == "success"


def test_null_for_a_required_argument_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="path"):
        Session(workspace_tools(tmp_path)).text("read_file", path=None)


odd = st.text(max_size=20) | st.sampled_from(
    [
        "..",
        "/",
        "~",
        "a.py",
        "out/x",
        "a\0b",
        "\ud800",
        "x" * 300,
        "a/" * 3_000,
        "(",
        "*" * 40,
        "\x1b[0m",
        "--help",
        "C:\\x",
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tool=st.sampled_from(["read_file", "write_file", "edit_file", "list_files"]),
    path=odd,
    text=odd,
    number=st.integers(),
)
def test_odd_arguments_are_clear_errors_and_nothing_outside_is_touched(
    tmp_path: Path, tool: str, path: str, text: str, number: int
) -> None:
    (tmp_path / "work").mkdir(exist_ok=True)
    if not (tmp_path / "work" / "out").is_symlink():
        (tmp_path / "work" / "out").symlink_to(tmp_path)
    agent = Session(workspace_tools(tmp_path / "work"))
    given = {"content": text, "old": text, "new": "x", "pattern": text, "offset": number, "limit": number}
    with suppress(WorkspaceError):
        agent.message(tool, path=path, **{name: given[name] for name in agent.tools[tool].args if name in given})
    assert [each.name for each in tmp_path.iterdir()] == ["work"]
