from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, history, plan, results, thread, todo
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import Step, call, say

Saver = BaseCheckpointSaver[Any]
A, B = todo("a", "first"), todo("b", "second")


def agent(*steps: Step, saver: Saver | None = None) -> Any:
    return create_agent(ScriptedChatModel(steps), checkpointer=saver)


def test_a_list_replaces_the_one_before_and_keeps_its_order(ask: Ask) -> None:
    done = {**A, "status": "completed"}
    found = ask(agent(plan(A, B), plan(B, done), "Done."), "go")
    assert found["todos"] == [B, done]
    assert results(found["messages"])[-1] == "Todo list updated, 1 of 2 completed.\n[ ] (b) second\n[x] (a) first"


BAD: dict[str, tuple[Any, str]] = {
    "unknown status": ([{**A, "status": "done"}], "status"),
    "missing id": ([{"content": "x", "status": "pending"}], "'id'"),
    "duplicate id": ([A, A], "unique"),
    "empty content": ([{**A, "content": " "}], "'content'"),
    "a fourth field": ([{**A, "priority": "high"}], "priority"),
    "500 items": ([todo(str(n)) for n in range(500)], "500 items"),
    "100 KB": ([todo(content="x" * 100_000)], "longer than 1000"),
    "over 8 000 in all": ([todo(str(n), "x" * 900) for n in range(9)], "at most 8000"),
    "no list": ("later", "must be a list"),
    "no object": (["later"], "item 1"),
}


@pytest.mark.parametrize(("todos", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_an_error_that_says_what_to_mend_and_the_list_stays(ask: Ask, todos: Any, says: str) -> None:
    found = ask(agent(plan(A), call("todo_write", todos=todos), "Done."), "go")
    assert found["todos"] == [A]
    refused = found["messages"][-2]
    assert refused.status == "error"
    assert says in refused.content


def test_a_call_without_todos_is_an_error(ask: Ask) -> None:
    found = ask(agent(plan(A), call("todo_write"), "Done."), "go")
    assert found["todos"] == [A]
    assert "todos" in found["messages"][-2].content
    assert found["messages"][-2].status == "error"


def test_of_several_calls_in_one_message_the_last_counts_and_each_result_shows_its_own(ask: Ask) -> None:
    found = ask(agent([plan(A), plan(B), plan(A, B)], "Done."), "go")
    assert found["todos"] == [A, B]
    shown = [text.splitlines()[1:] for text in results(found["messages"])]
    assert shown == [["[ ] (a) first"], ["[ ] (b) second"], ["[ ] (a) first", "[ ] (b) second"]]


def test_a_bad_last_call_leaves_the_list_of_the_one_before(ask: Ask) -> None:
    found = ask(agent([plan(A), plan(B), plan(A, A)], "Done."), "go")
    assert found["todos"] == [B]


def test_the_summary_of_the_result_is_the_list(ask: Ask) -> None:
    found = ask(agent(plan(A, B), "Done."), "go")
    assert found["messages"][-2].additional_kwargs["summary"] == "[ ] (a) first; [ ] (b) second"


def test_a_node_that_runs_twice_gives_the_same_list_and_one_result(ask: Ask, saver: Saver) -> None:
    graph = agent(plan(A), "Done.", "Done.", saver=saver)
    ask(graph, "go")
    before = next(s for s in graph.get_state_history(thread()) if s.next == ("execute_tools",))
    found = ask(graph, None, before.config)
    assert found["todos"] == [A]
    assert len(results(found["messages"])) == 1


def bare(*calls: Any, status: str = "success") -> list[AnyMessage]:
    """A history as another program exported it: no ids, no state."""
    answers = [AIMessage("", tool_calls=[{**c, "id": f"c{n}"}]) for n, c in enumerate(calls)]
    told = [ToolMessage("ok", tool_call_id=f"c{n}", status=status) for n in range(len(calls))]
    pairs = [message for pair in zip(answers, told, strict=True) for message in pair]
    return [HumanMessage("go"), *pairs, AIMessage("Done."), HumanMessage("and now?")]


def test_the_list_is_restored_from_bare_messages(ask: Ask, saver: Saver) -> None:
    graph = agent("Done.", saver=saver)
    found = ask(graph, {"messages": bare(plan(A), plan(A, B))})
    assert found["todos"] == [A, B]
    assert "[ ] (b) second" in history(graph)[-2].content


def test_calls_of_an_older_schema_are_passed_over(ask: Ask) -> None:
    old = call("todo_write", todos=[{"content": "first", "status": "pending", "activeForm": "doing it"}])
    assert ask(agent("Done."), {"messages": bare(plan(A), old)})["todos"] == [A]


def test_a_call_that_was_refused_is_passed_over(ask: Ask) -> None:
    assert ask(agent("Done."), {"messages": bare(plan(A), status="error")})["todos"] == []


def test_an_emptied_list_stays_empty_in_the_next_turn(ask: Ask, saver: Saver) -> None:
    graph = agent(plan(A), plan(), "Done.", "Still done.", saver=saver)
    ask(graph, "go")
    assert ask(graph, "and now?")["todos"] == []


def test_items_from_elsewhere_without_an_id_get_one(ask: Ask) -> None:
    given = [{"content": "first", "status": "pending"}, {"content": "second", "status": "in_progress"}]
    found = ask(agent("Done."), {"messages": [("user", "go")], "todos": given})
    assert [item["id"] for item in found["todos"]] == ["1", "2"]
    assert "[~] (2) second" in found["messages"][-2].content


@pytest.mark.parametrize("todos", [[{"content": "first", "status": "done"}], "later", [{"id": "a"}], ["read"], 7])
def test_a_list_handed_in_that_breaks_the_rules_does_not_break_the_thread(ask: Ask, saver: Saver, todos: Any) -> None:
    graph = agent("One.", plan(A), "Two.", saver=saver)
    ask(graph, {"messages": [("user", "go")], "todos": todos})
    assert ask(graph, "go on")["todos"] == [A]


def test_a_list_handed_in_wins_over_the_one_in_the_messages(ask: Ask) -> None:
    found = ask(agent("Done."), {"messages": bare(plan(A)), "todos": [B]})
    assert found["todos"] == [B]


def test_an_answer_with_text_and_a_plan_keeps_both(ask: Ask) -> None:
    found = ask(agent(say("I plan first.", plan(A)), "Done."), "go")
    assert found["todos"] == [A]
    assert found["messages"][1].content == "I plan first."
