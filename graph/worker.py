"""The wiring of the worker: a subgraph with its own state and checkpoints."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import RetryPolicy

from longthread.graph.caching import bind
from longthread.graph.models import context_window
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.tracing import LEAN, untraced
from longthread.nodes.worker.call_worker import make_call_worker
from longthread.nodes.worker.fit import Fitter
from longthread.nodes.worker.review_worker import (
    make_review_worker,
    route_after_call,
    route_after_review,
    route_after_tools,
)
from longthread.nodes.worker.run_worker_tools import make_run_worker_tools
from longthread.nodes.worker.state import WorkerState
from longthread.nodes.worker.summaries import make_review
from longthread.tools.tokens import count_schemas
from longthread.tools.worker import WorkerTools, bind_schemas
from longthread.tools.workspace import Workspace


def build_worker(
    model: BaseChatModel, config: CompactionConfig, workspace: Workspace | None, retry: RetryPolicy
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The worker subgraph; it uses the saver of the graph that calls it."""

    def limit(state: WorkerState) -> int:
        return round(config.summary_max_tokens / state["plan"]["scale"])

    def tools(state: WorkerState) -> WorkerTools:
        scale = state["plan"]["scale"]
        return WorkerTools(workspace, config.auto_read_budget, scale, make_review(limit(state)))

    schemas = bind_schemas(with_files=workspace is not None)
    fitter = Fitter(config, count_schemas(schemas), context_window(model))
    builder = StateGraph(WorkerState)
    call = make_call_worker(bind(model, schemas), fitter)
    builder.add_node("call_worker", call, retry_policy=retry, trace_policy=LEAN)
    builder.add_node("run_worker_tools", make_run_worker_tools(tools), trace_policy=LEAN)
    builder.add_node("review_worker", make_review_worker(limit), trace_policy=LEAN)
    builder.add_edge(START, "call_worker")
    builder.add_conditional_edges("call_worker", untraced(route_after_call))
    builder.add_conditional_edges("run_worker_tools", untraced(route_after_tools))
    builder.add_conditional_edges("review_worker", untraced(route_after_review))
    return builder.compile(name="compact_worker")
