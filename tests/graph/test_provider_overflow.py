"""The provider says that the context is too long: one compaction, one more request, or a typed error."""

from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, ask_sync, history, thread
from compactions import (
    AT_ONCE,
    SUMMARY,
    Graph,
    agent,
    events,
    files,
    look,
    looks,
    names,
    small,
    sources,
    summary,
    values,
    words,
    worker,
    writes,
)
from longthread.graph import ScriptedChatModel, create_agent, resolve_model
from longthread.graph.scripted import broken, call, say, scripted_tokens
from longthread.tools.errors import ContextRefused
from openai_server import OpenAIServer, Refusal, Reply
from provider_errors import OVERFLOWS, RATE_LIMITS

Saver = BaseCheckpointSaver[Any]
TOO_LONG = ContextOverflowError("this model's maximum context length is 300 tokens")
TALK = [say(f"answer {n} {words(150)}") for n in range(4)]


def talked(saver: Saver, *steps: Any, by: ScriptedChatModel | None = None, **options: Any) -> Graph:
    """A thread of four short turns; the next request takes the first of `steps`."""
    graph = agent([*TALK, *steps], small(), by, checkpointer=saver, **options)
    for n in range(4):
        ask_sync(graph, f"question {n}")
    return graph


def test_one_compaction_and_one_more_request(ask: Ask, saver: Saver) -> None:
    model = ScriptedChatModel([*TALK, TOO_LONG, "done"])
    graph = agent(model, small(), by := worker(), checkpointer=saver)
    for n in range(4):
        ask(graph, f"question {n}")
    assert ask(graph, "and now?")["messages"][-1].content == "done"
    [segment] = values(graph)["segments"]
    assert segment["trigger"] == "context_refused"
    assert segment["tokens_after"] < 0.75 * segment["tokens_before"]
    assert (by.calls, model.calls) == (1, 6)
    assert scripted_tokens(model.requests[-1]) < scripted_tokens(model.requests[-2])
    assert values(graph)["compaction"]["refusals"] == 0


def test_a_second_refusal_is_a_typed_error_and_the_run_is_not_finished(ask: Ask, saver: Saver) -> None:
    graph = talked(saver, TOO_LONG, TOO_LONG)
    with pytest.raises(ContextRefused, match="maximum context length"):
        ask(graph, "and now?")
    state = graph.get_state(thread())
    assert (state.next, len(state.tasks)) == (("call_model",), 1)
    assert state.values["messages"][-1].content == "and now?"
    assert len(state.values["segments"]) == 1


def test_it_goes_on_with_a_model_that_takes_it(ask: Ask, saver: Saver) -> None:
    with pytest.raises(ContextRefused):
        ask(talked(saver, TOO_LONG, TOO_LONG), "and now?")
    larger = agent(["done"], small(), checkpointer=saver)
    assert ask(larger, None)["messages"][-1].content == "done"


def test_resumed_with_the_same_model_it_is_refused_without_another_compaction(saver: Saver) -> None:
    graph = talked(saver, TOO_LONG, TOO_LONG, TOO_LONG, by=(by := worker()))
    for given in ("and now?", None):
        with pytest.raises(ContextRefused):
            ask_sync(graph, given)
    assert by.calls == 1


def test_a_new_turn_may_compact_again(saver: Saver) -> None:
    graph = talked(saver, TOO_LONG, TOO_LONG, TOO_LONG, "done")
    with pytest.raises(ContextRefused):
        ask_sync(graph, words(150))
    assert ask_sync(graph, words(60))["messages"][-1].content == "done"
    assert len(values(graph)["segments"]) == 2


def test_each_request_of_a_turn_has_its_own_try(saver: Saver) -> None:
    graph = talked(saver, TOO_LONG, *looks(3, 150), TOO_LONG, "done")
    assert names(events(graph, "go")).count("compact_done") == 2
    assert history(graph)[-1].content == "done"


@pytest.mark.parametrize("name", sorted(RATE_LIMITS))
def test_a_rate_limit_never_compacts_whatever_its_text_says(saver: Saver, name: str) -> None:
    error = RATE_LIMITS[name]
    graph = talked(saver, error, "done", by=(by := worker()))
    ask_sync(graph, "and now?")
    assert (by.calls, values(graph)["segments"]) == (0, [])
    assert history(graph)[-1].content == "done"


@pytest.mark.parametrize("name", sorted(OVERFLOWS))
def test_every_wording_of_the_refusal_compacts_once(saver: Saver, name: str) -> None:
    graph = talked(saver, OVERFLOWS[name], "done")
    assert ask_sync(graph, "and now?")["messages"][-1].content == "done"
    assert [segment["trigger"] for segment in values(graph)["segments"]] == ["context_refused"]


def test_a_stream_that_breaks_off_with_it_leaves_no_half_answer(saver: Saver) -> None:
    graph = talked(saver, broken("half an ans", TOO_LONG), "done")
    found = [*graph.stream({"messages": [("user", "and now?")]}, thread(), stream_mode="updates")]
    assert any("compact" in update for update in found)
    assert "half" not in str([m.content for m in history(graph)])
    assert history(graph)[-1].content == "done"


# Where the worker cannot do it

UNABLE = {
    "its model fails": lambda: worker(*[ValueError("gone")] * 9),
    "its window is too small": lambda: worker(*[TOO_LONG] * 9),
    "it writes nothing": lambda: worker(script=lambda _: "I will not."),
}


@pytest.mark.parametrize("name", UNABLE)
def test_a_summary_without_a_model_keeps_the_thread_alive(ask: Ask, saver: Saver, name: str) -> None:
    graph = talked(saver, TOO_LONG, "done", by=UNABLE[name]())
    assert ask(graph, "and now?")["messages"][-1].content == "done"
    text = history(graph)[0].text
    assert "put together without a model" in text
    assert "question 0" in text
    assert values(graph)["compaction"]["failures"] == 1
    assert values(graph)["compaction"]["reason"]


def test_it_goes_on_from_the_previous_summary_the_todos_the_files_and_the_errors(saver: Saver, tmp_path: Any) -> None:
    todos = call("todo_write", todos=[{"id": "1", "content": "mend it", "status": "pending"}])
    by = worker(script=lambda _: writes(summary(key_decisions="use a stack")))
    steps = [todos, call("read_file", path="a.py"), call("look", tokens=7, fails=True), *TALK]
    folder = files(tmp_path, a="x = 1\n")
    config = small(summary_max_tokens=400)
    graph = agent([*steps, TOO_LONG, "done"], config, by, checkpointer=saver, workspace=folder)
    for n in range(4):
        ask_sync(graph, f"question {n}")
    ask_sync(graph, {"compact_request": ""})
    failing = agent(
        [*TALK, TOO_LONG, "done"], config, UNABLE["its model fails"](), checkpointer=saver, workspace=folder
    )
    for n in range(5):
        ask_sync(failing, f"more {n} {words(100)}")
    text = "\n".join(m.text for m in history(failing))
    assert "put together without a model" in text
    for kept in ("use a stack", "[ ] (1) mend it", "a.py", "looking at 7 failed", "question 0"):
        assert kept in text, kept


def test_where_even_that_is_no_gain_the_refusal_is_final(saver: Saver) -> None:
    graph = agent(["first", TOO_LONG, TOO_LONG], small(), worker(ValueError("gone")), checkpointer=saver)
    ask_sync(graph, "go")
    with pytest.raises(ContextRefused):
        ask_sync(graph, "go on")
    assert sources(history(graph)) == ["human", "ai", "human"]


def test_without_compaction_the_first_refusal_is_final(ask: Ask, saver: Saver) -> None:
    graph = agent([TOO_LONG], None, checkpointer=saver)
    with pytest.raises(ContextRefused):
        ask(graph, "go")


def test_files_that_were_read_in_can_go_where_nothing_else_can(saver: Saver, tmp_path: Any) -> None:
    config = small(auto_read_budget=2_000, compact_request_threshold=4_500)
    by = worker(writes(SUMMARY, call("mark_read_required", path="big.py")), writes(), writes())
    folder = files(tmp_path, big="\n".join([words(10)] * 150))
    steps = [call("read_file", path="big.py"), *looks(2, 150), "first", TOO_LONG, "done"]
    graph = agent(steps, config, by, checkpointer=saver, workspace=folder)
    ask_sync(graph, "go")
    ask_sync(graph, {"compact_request": ""})
    assert values(graph)["segments"][-1]["files"] == ["big.py"]
    assert ask_sync(graph, "and now?")["messages"][-1].content == "done"
    assert values(graph)["segments"][-1]["files"] == []
    assert "big.py" in values(graph)["segments"][-1]["references"]


# Against a server that speaks the wire format


def over_http(server: OpenAIServer, saver: Saver, **settings: Any) -> Graph:
    model = resolve_model("openai:test", base_url=server.base_url, **settings)
    config = small(retained_tokens=300, summary_max_tokens=300)
    return create_agent(model, [look], compaction=config, checkpointer=saver, worker_model=worker(), retry=AT_ONCE)


def test_a_server_with_a_smaller_window_than_we_think_is_served_after_one_compaction(
    ask: Ask, saver: Saver, openai_server: OpenAIServer
) -> None:
    openai_server.context_window = 1_300
    openai_server.answer_by(
        lambda body: Reply(calls=(("look", {"tokens": 150}),)) if body["messages"][-1]["role"] != "tool" else "done"
    )
    graph = over_http(openai_server, saver)
    for n in range(6):
        assert ask(graph, f"turn {n}")["messages"][-1].content == "done"
    assert {segment["trigger"] for segment in values(graph)["segments"]} == {"context_refused"}
    assert openai_server.faults == []


def test_a_server_that_always_refuses_ends_in_the_typed_error(saver: Saver, openai_server: OpenAIServer) -> None:
    openai_server.answer(*[words(100)] * 5, Refusal.too_long(), Refusal.too_long())
    graph = over_http(openai_server, saver)
    for n in range(5):
        ask_sync(graph, f"turn {n}")
    with pytest.raises(ContextRefused):
        ask_sync(graph, "and now?")
    assert len(openai_server.requests) == 7
    assert len(values(graph)["segments"]) == 1


def test_a_servers_rate_limit_is_waited_out(ask: Ask, saver: Saver, openai_server: OpenAIServer) -> None:
    openai_server.answer(*[words(100)] * 3, Refusal.rate_limited(), Refusal.rate_limited(), "done")
    graph = over_http(openai_server, saver)
    for n in range(3):
        ask(graph, f"turn {n}")
    assert ask(graph, "and now?")["messages"][-1].content == "done"
    assert values(graph)["segments"] == []
