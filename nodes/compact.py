"""Compaction: the worker writes the summary and picks the files, one update replaces the history."""

import asyncio
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph._internal._runnable import RunnableCallable  # sync and async in one node
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from longthread.nodes.compaction.compactor import Compactor, Opened, Origin
from longthread.nodes.state import AgentState
from longthread.tools.errors import ThreadError

RECURSION_LIMIT = 4
"""Steps of the worker for each request that it may make, nudges and tools included."""


def make_compact(worker: CompiledStateGraph[Any, Any, Any, Any], compactor: Compactor) -> RunnableCallable:
    """The node, sync and async. It captures the worker itself, so that LangGraph finds the subgraph.

    A store that fails, or another run on the thread, ends the run: that is no failure of the worker.
    """

    def compact(state: AgentState, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        opened = compactor.open(state)
        if not isinstance(opened, Opened):
            return opened
        try:
            result = worker.invoke(opened.input, **_options(config, compactor)) if opened.calls_worker else {}
        except (GraphBubbleUp, ThreadError):
            raise
        except Exception as error:
            result = {"error": error}
        return compactor.close(state, opened, result, _origin(config, runtime))

    # Files are read when an attempt is opened and closed: not on the event loop.
    async def acompact(state: AgentState, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        opened = await asyncio.to_thread(compactor.open, state)
        if not isinstance(opened, Opened):
            return opened
        try:
            result = await worker.ainvoke(opened.input, **_options(config, compactor)) if opened.calls_worker else {}
        except (GraphBubbleUp, ThreadError):
            raise
        except Exception as error:
            result = {"error": error}
        return await asyncio.to_thread(compactor.close, state, opened, result, _origin(config, runtime))

    return RunnableCallable(compact, acompact, name="compact", trace=False)


def _options(config: RunnableConfig, compactor: Compactor) -> dict[str, Any]:
    """The worker's own step limit; finished steps are on disk before the next, where there is a saver."""
    limit = RECURSION_LIMIT * (compactor.config.worker_max_requests + 2)
    options: dict[str, Any] = {"config": {**config, "recursion_limit": limit, "run_name": "compact worker"}}
    # LangGraph has no public way to ask whether a saver is in force, and fails if "sync" is asked for without.
    if config["configurable"].get("__pregel_checkpointer") is not None:
        options["durability"] = "sync"
    return options


def _origin(config: RunnableConfig, runtime: Runtime[Any]) -> Origin:
    info = runtime.execution_info
    stored = config["configurable"].get("__pregel_checkpointer") is not None
    namespace = config["configurable"].get("checkpoint_ns")
    return Origin(info.checkpoint_id if info and stored else None, namespace if stored else None)
