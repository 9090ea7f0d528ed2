"""A chat model that is made at its first use, for graphs that must import without key or network."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableBinding
from langchain_core.tools import BaseTool
from pydantic import Field, PrivateAttr


class _Once:
    """The model, made once for all copies, whichever thread comes first."""

    def __init__(self) -> None:
        self.model: BaseChatModel | None = None
        self.lock = threading.Lock()


class DeferredChatModel(BaseChatModel):
    """Makes the real model with `make` at the first request and passes everything on to it.

    Building a graph with it and binding tools do not make it. So until then its window is unknown
    (give thresholds yourself), and its provider and name are those of `named`, a string
    "PROVIDER:NAME"; without that it counts as one that takes system messages at the head only.
    What `make` raises is raised by the request, and tried again by the next.
    """

    make: Callable[[], BaseChatModel] = Field(exclude=True, repr=False)
    named: str | None = None
    bound: dict[str, Any] | None = Field(None, exclude=True, repr=False)
    """What `bind_tools` was called with."""
    _once: _Once = PrivateAttr(default_factory=_Once)

    def __init__(self, make: Callable[[], BaseChatModel], *, named: str | None = None, **settings: Any) -> None:
        settings.update(make=make, named=named)
        super().__init__(**settings)

    @property
    def made(self) -> BaseChatModel | None:
        """The real model if a request was made already."""
        return self._once.model

    def real(self) -> BaseChatModel:
        """The real model; makes it if need be, which may read files and take a second."""
        with self._once.lock:
            if self._once.model is None:
                self._once.model = self.make()
            return self._once.model

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> "DeferredChatModel":
        """A copy that binds these tools once the real model is there; both share that model."""
        options = {"tool_choice": tool_choice, **kwargs} if tool_choice is not None else kwargs
        return self.model_copy(update={"bound": {"tools": list(tools), **options}})

    def _target(self, given: dict[str, Any]) -> tuple[BaseChatModel, dict[str, Any]]:
        """The real model, and what a request passes to it: the bound tools in its own form."""
        model = self.real()
        bound = model.bind_tools(**self.bound) if self.bound else model
        if isinstance(bound, RunnableBinding):
            return bound.bound, {**bound.kwargs, **given}  # type: ignore[return-value]  # the model that was bound
        return bound, given  # type: ignore[return-value]  # such as the scripted one: a bound copy of itself

    async def _atarget(self, given: dict[str, Any]) -> tuple[BaseChatModel, dict[str, Any]]:
        """As `_target`; making reads certificates and imports, which must not block the event loop."""
        if self.made is None:
            await asyncio.to_thread(self.real)
        return self._target(given)

    @property
    def _llm_type(self) -> str:
        return self.made._llm_type if self.made else "deferred"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        if self.made:
            return self.made._get_ls_params(stop=stop, **kwargs)
        provider, _, name = (self.named or "unknown:unknown").partition(":")
        return LangSmithParams(ls_provider=provider, ls_model_name=name, ls_model_type="chat")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        model, options = self._target(kwargs)
        return model._generate(messages, stop=stop, run_manager=run_manager, **options)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        model, options = await self._atarget(kwargs)
        return await model._agenerate(messages, stop=stop, run_manager=run_manager, **options)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        model, options = self._target(kwargs)
        if model._should_stream(async_api=False, stream=True):
            yield from model._stream(messages, stop=stop, run_manager=run_manager, **options)
        else:
            yield _in_one(model._generate(messages, stop=stop, run_manager=run_manager, **options))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        model, options = await self._atarget(kwargs)
        if not model._should_stream(async_api=True, stream=True):
            yield _in_one(await model._agenerate(messages, stop=stop, run_manager=run_manager, **options))
            return
        async for chunk in model._astream(messages, stop=stop, run_manager=run_manager, **options):
            yield chunk


def _in_one(result: ChatResult) -> ChatGenerationChunk:
    """The whole answer as one chunk, for a model that does not stream."""
    fields = result.generations[0].message.model_dump(exclude={"type"})
    return ChatGenerationChunk(message=AIMessageChunk(**fields, chunk_position="last"))
