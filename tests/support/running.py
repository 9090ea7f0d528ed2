"""Tools for tests of how calls are run, and a run of them."""

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.prebuilt import ToolRuntime

from agents import Ask
from longthread.graph import ScriptedChatModel, create_agent
from longthread.graph.scripted import Step
from validity import assert_valid


def ran(ask: Ask, tools: list[Any], *steps: Step, **options: Any) -> list[Any]:
    """The messages of one run, its last answer left out."""
    model = ScriptedChatModel([*steps, "Done."])
    messages: list[Any] = ask(create_agent(model, tools, **options), "go")["messages"]
    assert messages[-1].content == "Done."
    for request in model.requests:
        assert_valid(request)
    return messages[:-1]


@tool
def fail(text: str = "") -> str:
    """Fail."""
    raise ValueError(text)


@tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


def marks(log: list[str], *, mutates: bool, name: str) -> BaseTool:
    """A tool that logs its text and says how many results it saw."""

    def mark(text: str, runtime: ToolRuntime[Any, Any]) -> str:
        log.append(text)
        return f"{text} after {len(runtime.state['messages']) - 2}"

    return StructuredTool.from_function(
        mark, name=name, description="Mark.", metadata={"mutates": True} if mutates else None
    )
