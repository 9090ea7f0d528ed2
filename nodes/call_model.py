"""One request to the model, and what is written down of its answer."""

from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph._internal._runnable import RunnableCallable  # sync and async in one node, as langchain's agents do

from longthread.nodes.answers import complete, goes_on, normalised
from longthread.nodes.policy import CompactionPolicy
from longthread.nodes.refusals import is_context_overflow
from longthread.nodes.requests import Requests
from longthread.nodes.state import AgentState, ReminderState
from longthread.nodes.tracing import showing_newest

Model = Runnable[LanguageModelInput, AIMessage]


def make_call_model(model: Model, requests: Requests, policy: CompactionPolicy, name: str) -> RunnableCallable:
    """The node, sync and async, for a model that has its tools bound."""

    def call_model(state: AgentState) -> dict[str, Any]:
        try:
            request, config = _request(state)
            answer = complete(model.invoke(request, config))
        except Exception as error:
            return _refused(state, error)
        return _answered(state, answer)

    async def acall_model(state: AgentState) -> dict[str, Any]:
        try:
            request, config = _request(state)
            answer = complete(await model.ainvoke(request, config))
        except Exception as error:
            return _refused(state, error)
        return _answered(state, answer)

    def _request(state: AgentState) -> tuple[list[AnyMessage], RunnableConfig]:
        request = requests.build(state["messages"], state.get("pruned_through"))
        in_run = (state.get("reminder") or {}).get("requests", 0) > 0
        return request, showing_newest() if in_run and goes_on(state["messages"]) else {}

    def _refused(state: AgentState, error: Exception) -> dict[str, Any]:
        if is_context_overflow(error):
            return policy.after_refusal(state, error)
        raise error

    def _answered(state: AgentState, answer: AIMessage) -> dict[str, Any]:
        message = normalised(answer, state["messages"], state.get("pruned_through"), name, requests.meter.model)
        counters: ReminderState = {**(state.get("reminder") or {})}
        counters["requests"] = counters.get("requests", 0) + 1
        after = requests.meter.occupancy([*state["messages"], message], state.get("pruned_through"))
        update = {"messages": [message], "reminder": counters, "occupancy": after}
        return update | policy.after_answer(state, message, after)

    return RunnableCallable(call_model, acall_model, name="call_model", trace=False)
