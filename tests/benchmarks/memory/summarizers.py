"""The two summarizers: one writes no fact at all, one repeats every fact that it is shown."""

import re
from collections.abc import Callable, Sequence
from itertools import count

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from longthread.graph.scripted import ScriptedChatModel, call, say
from memory.player import visible
from memory.session import FACT

Facts = Callable[[str], list[str]]
OPENED_WITH = re.compile(r"^- (part_\S+)$", re.MULTILINE)
SUMMARY = """## Completed Tasks
### Work
(summary number {number})
{facts}

## Active Task
### Work
The work goes on.

## Key Decisions

## User Directives

## Current Work
The work goes on."""


def no_fact(_text: str) -> list[str]:
    """Nothing."""
    return []


def every_fact(text: str) -> list[str]:
    """Each fact once, in the order in which they were shown."""
    return list(dict.fromkeys(FACT.findall(text)))


def plain_summarizer(facts: Facts) -> ScriptedChatModel:
    """For the peers: one request, one text."""
    numbers = count(1)

    def answer(messages: list[BaseMessage]) -> str:
        return f"(summary number {next(numbers)})\n" + "\n".join(facts(_text(messages)))

    return ScriptedChatModel(answer, prefix="summary")


def worker(facts: Facts) -> ScriptedChatModel:
    """For longthread: the perfect one reads and marks the files that it is given, the other does nothing but write."""
    numbers = count(1)

    def answer(messages: list[BaseMessage]) -> AIMessage:
        requests = sum(isinstance(message, AIMessage) for message in messages)
        paths = OPENED_WITH.findall(_text(messages)) if facts is every_fact else []
        if paths and not requests:
            return say("", *(call("read_file", path=path) for path in paths))
        if requests > bool(paths):
            return say("Nothing else is needed.")
        shown = "\n".join(facts(_text(messages)))
        return say("", *_marks(paths), call("write_summary", text=SUMMARY.format(number=next(numbers), facts=shown)))

    return ScriptedChatModel(answer, prefix="worker")


def _marks(paths: Sequence[str]) -> list[ToolCall]:
    return [call("mark_read_required", path=path) for path in paths]


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(map(visible, messages))
