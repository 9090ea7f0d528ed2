"""The agent graph: what a user composes, and the wiring of its nodes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import RetryPolicy

from longthread.graph.caching import bind
from longthread.graph.parts import AgentOptions, AgentParts, assemble
from longthread.graph.schemas import check_schema, input_schema, output_schema
from longthread.graph.worker import build_worker
from longthread.nodes.call_model import make_call_model
from longthread.nodes.call_order import CallOrder
from longthread.nodes.compact import make_compact
from longthread.nodes.compaction.attempt import Opener
from longthread.nodes.compaction.commit import Committer
from longthread.nodes.compaction.compactor import Compactor
from longthread.nodes.execute_tools import make_execute_tools
from longthread.nodes.inject_reminder import make_inject_reminder
from longthread.nodes.policy import CompactionPolicy
from longthread.nodes.pre_request_check import make_pre_request_check
from longthread.nodes.refusals import retry_policy
from longthread.nodes.results import Tracked
from longthread.nodes.routing import (
    make_route_after_compact,
    make_route_after_model,
    make_route_after_reminder,
    make_route_start_without,
    route_after_check,
    route_start,
)
from longthread.nodes.settings import CompactionConfig, ReminderConfig, SystemRole
from longthread.nodes.state import AgentState
from longthread.nodes.tracing import LEAN, untraced

Tool = BaseTool | Callable[..., Any]


def create_agent(
    model: BaseChatModel | str,
    tools: Sequence[Tool] = (),
    *,
    system_prompt: str | None = None,
    workspace: str | Path | None = None,
    compaction: CompactionConfig | Literal["auto"] | None = "auto",
    reminders: ReminderConfig = ReminderConfig(),  # noqa: B008  # frozen
    worker_model: BaseChatModel | str | None = None,
    tracked_tools: Tracked | None = None,
    max_requests: int | None = None,
    state_schema: type[Any] | None = None,
    context_schema: type[Any] | None = None,
    allow_commands: Literal["ask", "always", "never"] = "never",
    max_result_tokens: int = 10_000,
    system_role: SystemRole = "auto",
    never_pruned: Sequence[str] = (),
    retry: RetryPolicy | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    name: str = "longthread",
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """An agent that keeps its plan in sight and its context small.

    Args:
        model: a chat model, `"openai:NAME"`, or any string that `init_chat_model` knows where
            `langchain` is installed.
        tools: your own tools, beside `todo_write` and those of the workspace.
        system_prompt: stands first in every request; never in `messages`.
        workspace: a folder. With it the agent has file tools, all confined to it.
        compaction: when and how the history is made smaller. `"auto"` follows the window that the
            model's profile names, else thresholds of 80 000 and 90 000 tokens. `None`: a graph without
            the node.
        reminders: when the open todos are shown again.
        worker_model: writes the summaries; the agent's own model without it.
        tracked_tools: lets the tracker see your own file tools: tool name → its path argument, or
            `(argument, "written" | "edited")` if it does not only read.
        max_requests: requests of one turn, answered interrupts included, before `RequestLimitReached` ends
            the run; invoke with `None` to go on for as many again.
        state_schema: your own keys, in a `TypedDict` that extends `AgentState`.
        context_schema: the type of `context=`, as in LangGraph.
        allow_commands: whether the agent has `run_command`, and whether each command is asked for by an
            interrupt.
        max_result_tokens: a longer tool result keeps its head and tail.
        system_role: whether the provider takes system messages in mid-history (`"system"`) or is sent
            them as tagged user messages (`"user"`).
        never_pruned: names of tools whose results are never shortened.
        retry: how failed requests of the model are tried again, as in LangGraph; without it transient
            errors are, three times within about seven seconds.
        checkpointer: a saver (see `open_saver`), as in LangGraph.
        store: a store for tools, as in LangGraph.
        name: of the graph, in traces and on its messages.

    Raises:
        SettingsError: an option, alone or beside the others, that cannot work.
        ModelError: a model string that names nothing, or a missing key.
        WorkspaceError: a workspace that is no folder.
    """
    builder = build_agent(
        model,
        tools,
        system_prompt=system_prompt,
        workspace=workspace,
        compaction=compaction,
        reminders=reminders,
        worker_model=worker_model,
        tracked_tools=tracked_tools,
        max_requests=max_requests,
        state_schema=state_schema,
        context_schema=context_schema,
        allow_commands=allow_commands,
        max_result_tokens=max_result_tokens,
        system_role=system_role,
        never_pruned=never_pruned,
        retry=retry,
        name=name,
    )
    return builder.compile(checkpointer=checkpointer, store=store, name=name)


def build_agent(
    model: BaseChatModel | str, tools: Sequence[Tool] = (), **options: Unpack[AgentOptions]
) -> StateGraph[Any, Any, Any, Any]:
    """The same as `create_agent`, with its options, uncompiled and without a checkpointer.

    Add nodes of your own before you compile it.
    """
    parts = assemble(model, tools, options)
    schema = check_schema(options.get("state_schema") or AgentState)
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(
        schema, options.get("context_schema"), input_schema=input_schema(schema), output_schema=output_schema(schema)
    )
    policy = CompactionPolicy(parts.compaction, parts.name)
    _add_nodes(builder, parts, policy, options)
    _add_edges(builder, parts, options)
    return builder


def _add_nodes(
    builder: StateGraph[Any, Any, Any, Any], parts: AgentParts, policy: CompactionPolicy, options: AgentOptions
) -> None:
    reminder = make_inject_reminder(options.get("reminders") or ReminderConfig(), parts.name)
    check = make_pre_request_check(parts.requests, policy, options.get("max_requests"))
    call = make_call_model(bind(parts.model, parts.tools), parts.requests, policy, parts.name)
    builder.add_node("inject_reminder", reminder, trace_policy=LEAN)
    builder.add_node("pre_request_check", check, trace_policy=LEAN)
    retry = options.get("retry") or retry_policy()
    builder.add_node("call_model", call, retry_policy=retry, trace_policy=LEAN)
    builder.add_node("execute_tools", make_execute_tools(parts.tools, parts.finisher), trace_policy=LEAN)
    if parts.compaction:
        worker = build_worker(parts.worker_model, parts.compaction, parts.workspace, retry)
        opener = Opener(parts.compaction, parts.requests, parts.workspace is not None)
        compactor = Compactor(opener, Committer(opener, parts.workspace))
        builder.add_node("compact", make_compact(worker, compactor), trace_policy=LEAN)


def _add_edges(builder: StateGraph[Any, Any, Any, Any], parts: AgentParts, options: AgentOptions) -> None:
    order = CallOrder.of(parts.name, parts.tools, options.get("tracked_tools") or {})
    direct = frozenset(tool.name for tool in parts.tools if tool.return_direct)
    ends = ["execute_tools", "__end__", *(["compact"] if parts.compaction else [])]
    after_reminder = ["execute_tools", "pre_request_check", *(["__end__"] if direct else [])]
    builder.add_conditional_edges("inject_reminder", untraced(make_route_after_reminder(order, direct)), after_reminder)
    builder.add_conditional_edges("call_model", untraced(make_route_after_model(order)), ends)
    builder.add_edge("execute_tools", "inject_reminder")
    if not parts.compaction:
        builder.add_conditional_edges(START, untraced(make_route_start_without(parts.name)))
        builder.add_edge("pre_request_check", "call_model")
        return
    builder.add_conditional_edges(START, untraced(route_start))
    builder.add_conditional_edges("pre_request_check", untraced(route_after_check))
    builder.add_conditional_edges("compact", untraced(make_route_after_compact(parts.name)))
