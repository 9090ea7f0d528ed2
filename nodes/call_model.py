"""One request to the model, and what is written down of its answer."""

from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable
from langgraph._internal._runnable import RunnableCallable  # sync and async in one node, as langchain's agents do

from longthread.nodes.answers import normalised
from longthread.nodes.policy import CompactionPolicy
from longthread.nodes.refusals import is_context_overflow
from longthread.nodes.requests import Requests
from longthread.nodes.state import AgentState, ReminderState

Model = Runnable[LanguageModelInput, AIMessage]


def make_call_model(model: Model, requests: Requests, policy: CompactionPolicy, name: str) -> RunnableCallable:
    """The node, sync and async, for a model that has its tools bound."""

    def call_model(state: AgentState) -> dict[str, Any]:
        try:
            answer = model.invoke(_request(state))
        except Exception as error:
            return _refused(state, error)
        return _answered(state, answer)

    async def acall_model(state: AgentState) -> dict[str, Any]:
        try:
            answer = await model.ainvoke(_request(state))
        except Exception as error:
            return _refused(state, error)
        return _answered(state, answer)

    def _request(state: AgentState) -> list[AnyMessage]:
        return requests.build(state["messages"], state.get("pruned_through"))

    def _refused(state: AgentState, error: Exception) -> dict[str, Any]:
        if is_context_overflow(error):
            return policy.after_refusal(state, error)
        raise error

    def _answered(state: AgentState, answer: AIMessage) -> dict[str, Any]:
        message = normalised(answer, state["messages"], state.get("pruned_through"), name)
        counters: ReminderState = {**(state.get("reminder") or {})}
        counters["requests"] = counters.get("requests", 0) + 1
        after = requests.meter.occupancy([*state["messages"], message], state.get("pruned_through"))
        update = {"messages": [message], "reminder": counters, "occupancy": after}
        return update | policy.after_answer(state, message, after)

    return RunnableCallable(call_model, acall_model, name="call_model", trace=False)
