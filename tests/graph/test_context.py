"""What an assistant may choose through its context, checked when a run reads it."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agents import ask_async, ask_sync, results, thread
from longthread.graph.agent import build_agent
from longthread.graph.context import AgentContext, Builder, by_context, config_for, folder_for
from longthread.graph.scripted import ScriptedChatModel, call
from longthread.nodes.settings import CompactionConfig
from longthread.tools.errors import SettingsError

BASE = CompactionConfig(compact_threshold=80_000, compact_request_threshold=90_000)


def test_an_empty_context_leaves_the_owners_settings() -> None:
    assert config_for(AgentContext(), BASE) == BASE


def test_one_threshold_alone_turns_the_other_off() -> None:
    config = config_for(AgentContext(compact_request_threshold=50_000), BASE)
    assert (config.compact_threshold, config.compact_request_threshold) == (None, 50_000)
    assert config.retained_tokens == 6_666, "a tenth of the window whose three quarters it is"


@pytest.mark.parametrize("threshold", [3_000, 10_000, 1_000_000])
def test_budgets_fit_below_every_threshold_and_never_grow(threshold: int) -> None:
    config = config_for(AgentContext(compact_threshold=threshold), BASE)
    assert config.kept_at_most < threshold
    assert config.retained_tokens <= BASE.retained_tokens


def test_a_context_takes_no_other_key_and_no_smaller_threshold() -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        AgentContext.model_validate({"compact_treshold": 5_000})
    with pytest.raises(ValidationError, match="greater than or equal to 3000"):
        AgentContext(compact_threshold=2_999)


def test_a_folder_below_the_owners_is_found_and_none_is_the_owners(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert folder_for(AgentContext(), str(tmp_path)) == str(tmp_path)
    assert folder_for(AgentContext(workspace="a/b"), str(tmp_path)) == str(tmp_path / "a" / "b")
    assert folder_for(AgentContext(workspace=str(tmp_path / "a")), str(tmp_path)) == str(tmp_path / "a")


@pytest.mark.parametrize(
    ("wanted", "rule"),
    [
        ("/etc", "'/etc' is outside the workspace"),
        ("a/../..", "has '..', which is not allowed"),
        ("out", "'out' is outside the workspace"),
        ("file", "there is no such folder"),
        ("nowhere", "there is no such folder"),
        ("nul\0", "workspace='nul"),
    ],
)
def test_a_folder_elsewhere_is_refused(tmp_path: Path, wanted: str, rule: str) -> None:
    (tmp_path / "file").write_text("")
    os.symlink("/etc", tmp_path / "out")
    with pytest.raises(SettingsError, match=rule):
        folder_for(AgentContext(workspace=wanted), str(tmp_path))


def test_a_server_without_a_workspace_says_whose_it_is_to_set() -> None:
    with pytest.raises(SettingsError, match="its owner sets one with LONGTHREAD_WORKSPACE"):
        folder_for(AgentContext(workspace="a"), None)


def agent(root: Path, steps: list[Any]) -> Builder:
    """As the studio builds its graph, with a scripted model."""
    model = ScriptedChatModel(steps)

    def build(context: AgentContext) -> Builder:
        folder, config = folder_for(context, str(root)), config_for(context, BASE)
        return build_agent(model, workspace=folder, compaction=config, context_schema=AgentContext)

    return by_context(build)


@pytest.mark.parametrize("ask", [ask_sync, ask_async])
def test_each_run_works_in_the_folder_of_its_own_context(tmp_path: Path, ask: Any) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    graph = agent(tmp_path, [call("read_file", path="a.txt"), "Done."] * 2).compile()
    for name in ("one", "two"):
        answered = ask(graph, "Read it.", thread(), context=AgentContext(workspace=name))
        assert results(answered["messages"]) == [f"1\t{name}"]


def test_the_graph_is_drawn_and_searched_as_any_other(tmp_path: Path) -> None:
    graph, usual = agent(tmp_path, []).compile(), build_agent(ScriptedChatModel([])).compile()
    assert graph.get_graph().edges == usual.get_graph().edges
    assert [name for name, _ in graph.get_subgraphs()] == ["compact"]
