"""A compaction that gains next to nothing is none, and what cannot be counted is not promised away."""

from typing import Any

from agents import ask_sync, thread
from compactions import agent, looks, small, values, words, worker, writes
from longthread.graph import ScriptedChatModel
from longthread.graph.scripted import say


def test_a_new_history_that_gains_less_than_a_twentieth_is_no_gain(saver: Any) -> None:
    by = worker(script=lambda _: writes())
    config = small(compact_request_threshold=900, prune_min_savings=400)
    graph = agent([*looks(60, 20), "done"], config, by, checkpointer=saver, system_prompt=words(600, "sys"))
    ask_sync(graph, "begin")
    sizes = [(s["tokens_before"], s["tokens_after"]) for s in values(graph)["segments"]]
    assert all(before - after >= 45 for before, after in sizes)
    assert by.calls <= 12


def test_tokens_that_the_provider_adds_unseen_do_not_make_it_compact_at_every_request(saver: Any) -> None:
    def measured(request: Any, answer: Any) -> int:
        return 1_500 + sum(len(str(message.content)) for message in request) // 4

    model = ScriptedChatModel([*looks(60, 20), "done"], usage=measured)
    by = worker(script=lambda _: writes())
    graph = agent(model, small(compact_request_threshold=900), by, checkpointer=saver)
    ask_sync(graph, "begin")
    assert by.calls < 15


def test_each_refusal_of_the_workers_own_model_halves_what_it_is_sent(saver: Any) -> None:
    sizes: list[int] = []

    def refuse(request: Any) -> Any:
        sizes.append(sum(len(str(message.content)) for message in request))
        return ValueError("prompt is too long: context_length_exceeded")

    steps = [say(words(60, f"w{n}")) for n in range(20)]
    graph = agent(steps, small(), worker(script=refuse), checkpointer=saver)
    for n in range(20):
        ask_sync(graph, f"turn {n} {words(20)}")
    ask_sync(graph, {"compact_request": ""})
    assert len(sizes) == 3
    fixed = sizes[2] - (sizes[1] - sizes[2])
    assert sizes[0] - fixed > 1.5 * (sizes[1] - fixed) > 1.5 * 1.5 * (sizes[2] - fixed) > 0
    assert graph.get_state(thread()).values["compaction"]["outcome"] == "failed"
