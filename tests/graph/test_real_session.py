"""A real coding session of 914 messages, compacted: it is read where it lies beside the repository, never copied."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_from_dict
from langgraph.checkpoint.memory import InMemorySaver

from agents import Graph, history, thread
from longthread.graph import CompactionConfig, create_agent
from longthread.graph.scripted import ScriptedChatModel, call, say
from longthread.nodes.state import SegmentRecord
from longthread.tools.results import text_of
from validity import assert_valid, assert_valid_strict

SESSION = Path(__file__).parents[3] / "shared" / "data" / "real_session.jsonl"
SUMMARY = """## Completed Tasks
### Themes
Ported to the new colors.

## Active Task
### Selectors
Two of them are left.

## Key Decisions
- Colors come from the theme, so that users can change them.

## User Directives
- "in full"

## Current Work
The last selector."""
VALID = {"system": assert_valid, "user": assert_valid_strict}

pytestmark = pytest.mark.skipif(not SESSION.exists(), reason="the real session is not beside this repository")


@pytest.fixture(scope="module")
def recorded() -> list[AnyMessage]:
    """The session as it was recorded."""
    rows = [json.loads(line) for line in SESSION.read_text(encoding="utf-8").splitlines()]
    return cast("list[AnyMessage]", messages_from_dict(rows))


class Compacted:
    """The session as a thread of an agent that was asked to go on with it."""

    def __init__(self, recorded: list[AnyMessage], role: Any = "system", **settings: Any) -> None:
        # The name of the session's own model, so that what was measured in it counts.
        usage = settings.pop("usage", True)
        self.main = ScriptedChatModel(["I go on."], model_name="claude-sonnet-4-5", prefix="main", usage=_fixed(usage))
        self.worker = ScriptedChatModel([say("", call("write_summary", text=SUMMARY))], prefix="worker")
        self.agent: Graph = create_agent(
            self.main,
            compaction=CompactionConfig(compact_threshold=80_000, compact_request_threshold=90_000, **settings),
            worker_model=self.worker,
            system_role=role,
            checkpointer=InMemorySaver(),
        )
        self.agent.update_state(thread(), {"messages": recorded})
        self.agent.invoke({"messages": [("user", "go on")]}, thread())
        self.history = history(self.agent)
        self.summary = self.history[0]

    @property
    def segment(self) -> SegmentRecord:
        """The record of the compaction."""
        [segment] = self.agent.get_state(thread()).values["segments"]
        return cast("SegmentRecord", segment)

    def users_kept(self) -> dict[str, str]:
        """Texts of the user's messages in the new history by id: pinned ones and those of the tail."""
        pinned = {pin["id"]: pin["text"] for pin in self.summary.additional_kwargs["appendix"]["pinned"]}
        return pinned | {m.id or "": text_of(m) for m in self.history if isinstance(m, HumanMessage)}


def _fixed(usage: int) -> Any:
    """What the model reports: a fixed number of tokens, or its own count."""
    return usage if usage is True else lambda *_: usage


@pytest.fixture(scope="module", params=["system", "user"])
def compacted(request: pytest.FixtureRequest, recorded: list[AnyMessage]) -> Compacted:
    return Compacted(recorded, request.param)


def test_the_session_is_what_the_tests_are_about(recorded: list[AnyMessage]) -> None:
    calls = {c["id"] for m in recorded if isinstance(m, AIMessage) for c in m.tool_calls}
    answered = {getattr(m, "tool_call_id", None) for m in recorded}

    assert len(recorded) == 914
    assert sum(isinstance(m, HumanMessage) for m in recorded) == 88
    assert len(calls - answered) == 18


def test_a_session_of_177_000_tokens_becomes_one_within_the_budgets(compacted: Compacted) -> None:
    segment = compacted.segment

    assert segment["trigger"] == "compact_request_threshold"
    assert segment["tokens_before"] > 90_000
    assert segment["tokens_after"] < 8_000 + 4_000 + 2_000 + 2_000
    assert segment["summarised"] + segment["kept"] > 900


def test_every_request_of_the_session_is_valid(compacted: Compacted, request: pytest.FixtureRequest) -> None:
    role = request.node.callspec.params["compacted"]

    assert len(compacted.main.requests) == 1
    for sent in [*compacted.main.requests, *compacted.worker.requests]:
        VALID[role](cast("list[AnyMessage]", sent))


def test_the_first_and_the_newest_of_the_users_messages_stay_word_for_word(
    compacted: Compacted, recorded: list[AnyMessage]
) -> None:
    said = [m for m in recorded if isinstance(m, HumanMessage)]
    kept = compacted.users_kept()
    shown = [m.id in kept for m in said]
    newest = shown[1:].index(True) + 1

    assert shown[0]
    assert all(shown[newest:])
    assert len(said) - newest > 30
    assert all(kept[m.id or ""] == text_of(m) for m in said if m.id in kept and len(text_of(m)) < 1_500)


def test_with_room_for_them_all_88_messages_of_the_user_stay_word_for_word(recorded: list[AnyMessage]) -> None:
    compacted = Compacted(recorded, pinned_user_tokens=12_000)
    kept = compacted.users_kept()

    assert [m.id for m in recorded if isinstance(m, HumanMessage) and kept.get(m.id or "") != text_of(m)] == []
    shown = "\n".join(map(text_of, compacted.main.requests[0]))
    assert all(text in shown for text in kept.values())


def test_at_80_000_tokens_it_is_compacted_after_the_answer(recorded: list[AnyMessage]) -> None:
    compacted = Compacted(recorded[:281], usage=86_500, prune_protected_tokens=200_000)

    assert compacted.segment["trigger"] == "compact_threshold"
    assert 86_000 < compacted.segment["tokens_before"] < 90_000
    assert compacted.segment["tokens_after"] < 16_000
    assert text_of(compacted.history[-1]) == "I go on."
