"""The module-level graph for a LangGraph server: `longthread.graph.studio:graph` in `langgraph.json`.

The environment says what it works with, read at the first request: `LONGTHREAD_MODEL` (default
`openai:gpt-5-mini`), `OPENAI_API_KEY` or `OPENAI_BASE_URL`. `LONGTHREAD_WORKSPACE` is read when the
server starts: a folder for the file tools, none without it.
"""

import os

from langchain_core.language_models import BaseChatModel

from longthread.graph.agent import create_agent
from longthread.graph.deferred import DeferredChatModel
from longthread.graph.models import resolve_model


def _model() -> BaseChatModel:
    return resolve_model(os.environ.get("LONGTHREAD_MODEL", "openai:gpt-5-mini"))


graph = create_agent(DeferredChatModel(_model), workspace=os.environ.get("LONGTHREAD_WORKSPACE"))
