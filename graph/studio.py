"""The module-level graph for a LangGraph server: `longthread.graph.studio:graph` in `langgraph.json`.

The environment says what it works with, `LONGTHREAD_MODEL` (default
`openai:gpt-5-mini`) and `LONGTHREAD_WORKSPACE` (a folder for the file tools, none without it) when the
server starts, `OPENAI_API_KEY` or `OPENAI_BASE_URL` at the first request.
"""

import os

from langchain_core.language_models import BaseChatModel

from longthread.graph.agent import create_agent
from longthread.graph.deferred import DeferredChatModel
from longthread.graph.models import resolve_model


NAME = os.environ.get("LONGTHREAD_MODEL", "openai:gpt-5-mini")


def _model() -> BaseChatModel:
    return resolve_model(NAME)


graph = create_agent(DeferredChatModel(_model, named=NAME), workspace=os.environ.get("LONGTHREAD_WORKSPACE"))
