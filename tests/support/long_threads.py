"""Threads of several segments: numbered looks, with a plan that stays open, compacted at a small scale."""

from typing import Any

from langchain_core.messages import AnyMessage

from agents import plan, thread, todo
from compactions import Graph, agent, small
from longthread.graph.scripted import call, say

LOOKS = 30
TODOS = [todo("1", "look thirty times", "in_progress")]


def looking(saver: Any, looks: int = LOOKS, tokens: int = 60, **options: Any) -> Graph:
    """An agent that plans, looks that often, each time saying which look it is, and answers."""
    steps = [
        say("I plan.", plan(*TODOS)),
        *(say(f"look {n}", call("look", tokens=tokens)) for n in range(looks)),
        "Done.",
    ]
    return agent(steps, small(compact_request_threshold=900), checkpointer=saver, **options)


def looked(saver: Any, name: str = "t", **options: Any) -> Graph:
    """The same, run to its end on the thread `name`; four compactions come on the way."""
    graph = looking(saver, **options)
    config: Any = {**thread(name), "metadata": {"workspace": "w"}, "recursion_limit": 500}
    graph.invoke({"messages": [("user", "look thirty times")]}, config, durability="sync")
    return graph


def said(messages: list[AnyMessage]) -> list[str]:
    """What the user and the agent said, in order."""
    return [str(message.content) for message in messages if message.type in ("human", "ai")]


EVERYTHING = ["look thirty times", "I plan.", *(f"look {n}" for n in range(LOOKS)), "Done."]
