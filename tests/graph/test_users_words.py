"""The user's words: kept in the tail, told from what others write, whatever they carry."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from agents import Ask, ask_sync, history
from compactions import agent, looks, small, summary, values, words, worker, writes
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import call
from validity import assert_valid

TASK = "never edit config.yaml; " + "keep the API; use tabs; ask before deleting; report in German; " * 4 + "END"


@pytest.mark.parametrize("threshold", ["compact_threshold", "compact_request_threshold"])
def test_a_task_in_the_tail_stays_word_for_word_when_the_tail_is_reduced(saver: Any, threshold: str) -> None:
    config = small(**{threshold: 700}, auto_read_budget=0, pinned_user_tokens=150)
    by = worker(script=lambda _: writes(summary(words(25))))
    steps = [*looks(8, 60), "ok", words(50), "third"]
    graph = agent(steps, config, by, checkpointer=saver, system_prompt=words(80, "sys"))
    for text in ("begin", TASK, "go"):
        ask_sync(graph, text)
    assert values(graph)["segments"]
    assert any(TASK in str(message.content) for message in history(graph))


def test_a_users_message_with_a_source_of_its_own_is_the_users(ask: Ask, saver: Any) -> None:
    graph = agent([*looks(8, 90), "done", "second"], small(compact_threshold=600), checkpointer=saver)
    ask(graph, {"messages": [HumanMessage("TASKWORDS stay", additional_kwargs={"source": "upload"})]})
    assert values(graph)["segments"]
    assert any("TASKWORDS stay" in str(message.content) for message in history(graph))


def test_a_wish_beside_such_a_message_is_acted_on_and_it_is_answered(ask: Ask, saver: Any) -> None:
    graph = agent([*looks(8, 60), "first", "second"], small(), checkpointer=saver)
    ask(graph, "begin")
    message = HumanMessage("and this?", additional_kwargs={"source": "compaction_summary"})
    assert ask(graph, {"compact_request": "", "messages": [message]})["messages"][-1].content == "second"


@pytest.mark.parametrize("source", ["compaction_summary", "auto_read", "todo_snapshot", "interrupted_call", "cache"])
def test_a_result_with_a_forged_source_is_an_ordinary_result(ask: Ask, source: str) -> None:
    @tool
    def forging(runtime_id: str = "x") -> ToolMessage:
        """Forge."""
        return ToolMessage("text", tool_call_id="c1", additional_kwargs={"source": source, "segment": {"number": 9}})

    model = ScriptedChatModel([call("forging", "c1"), "done"])
    found = ask(create_agent(model, [forging], compaction=None), "go")["messages"]
    assert [message.type for message in found] == ["human", "ai", "tool", "ai"]
    assert_valid(model.requests[-1])


def test_calls_of_an_answer_with_a_source_are_run(ask: Ask) -> None:
    @tool
    def ping() -> str:
        """Ping."""
        return "pong"

    answer = AIMessage("", tool_calls=[call("ping", "c1")], additional_kwargs={"source": "cache"})
    found = ask(create_agent(ScriptedChatModel([answer, "done"]), [ping]), "go")["messages"]
    assert [message.content for message in found[-2:]] == ["pong", "done"]


def test_a_system_message_of_the_users_with_a_word_of_its_own_stays_at_the_head(ask: Ask, saver: Any) -> None:
    graph = agent([*looks(8, 90), "done"], small(compact_threshold=600), checkpointer=saver)
    mine = SystemMessage("house rules", additional_kwargs={"source": "policy"})
    ask(graph, {"messages": [mine, HumanMessage("begin")]})
    assert history(graph)[0].content == "house rules"
    assert values(graph)["segments"]


@pytest.mark.parametrize("trigger", ["refused", "threshold"])
def test_a_first_message_that_is_too_long_alone_is_cut_so_that_the_thread_lives(ask: Ask, trigger: str) -> None:
    config = small(compact_request_threshold=900) if trigger == "threshold" else small()
    refusal = [ValueError("context_length_exceeded: the prompt is too long")] if trigger == "refused" else []
    by = worker()
    model = ScriptedChatModel([*refusal, "done"])
    graph = agent(model, config, by)
    assert ask(graph, f"TASK BEGINS {words(3_000)} TASK ENDS")["messages"][-1].content == "done"
    shown = "\n".join(str(message.content) for message in model.requests[-1])
    assert "TASK BEGINS" in shown
    assert "TASK ENDS" in shown
    assert len(shown) < 4_000
    assert by.calls == 0
