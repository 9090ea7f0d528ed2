"""A chat model that follows a script: for the demo, tests, notebooks, and your own tests.

    model = ScriptedChatModel([
        say("I look first.", call("read_file", path="a.py")),
        TimeoutError("the server is busy"),
        "Done.",
    ])

Each request takes the next step. It streams word by word, reports usage, binds tools, raises, and
keeps every request it was sent in `requests`. No network, no clock, no chance: the same requests
get the same answers, ids included.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

from longthread.graph.scripted_steps import (
    Broken,
    Progress,
    ScriptExhausted,
    broken,
    call,
    chunks,
    completed,
    say,
    scripted_tokens,
    words,
)

__all__ = [
    "Script",
    "ScriptExhausted",
    "ScriptedChatModel",
    "Step",
    "Usage",
    "broken",
    "call",
    "say",
    "scripted_tokens",
]

Answer = str | AIMessage | ToolCall | Sequence[ToolCall] | BaseException | type[BaseException] | Broken
"""A final answer, a message, calls, or an error to raise."""
Step = Answer | Callable[[list[BaseMessage]], Answer]
"""An answer, or a function from the request to one."""
Script = Sequence[Step] | Callable[[list[BaseMessage]], Answer]
Usage = bool | Callable[[list[BaseMessage], AIMessage], UsageMetadata | int | None]


class ScriptedChatModel(BaseChatModel):
    """A deterministic chat model.

    `script` is a list of steps, or one function from the request to an answer. Where a list goes on:

    - `position="calls"`: step `start + n` for the n-th request (from 0), bound copies counted
      together. A step that raised is used up, so a retry takes the next one. A new process
      begins at `start` again.
    - `position="history"`: the step after this script's newest answer in the request, read from
      its id (`<prefix>-<number>`), else step `start`. So a new process, and a fork, goes on where
      its thread is. Give every model of a graph a `prefix` of its own then. Here too a retry
      after a step that raised takes the next one, as long as the process lives.

    A function decides from the messages alone and so resumes by itself.
    """

    script: Any = Field(repr=False)
    start: int = 0
    position: Literal["calls", "history"] = "calls"
    usage: Any = True
    """`True`: as `scripted_tokens` counts; `False`: none, as some servers; a function of request and
    answer that gives the request's tokens, whole `UsageMetadata`, or `None`. An answer's own stands."""
    delay: float = 0.0
    """Seconds before each chunk of a stream."""
    model_name: str = "scripted"
    prefix: str = "scripted"
    """Ids of messages are `<prefix>-<number>`, of calls `<prefix>-<number>-<n>`; those in a step stand."""
    tools: list[dict[str, Any]] = Field(default_factory=list, repr=False)
    """The bound tools in OpenAI's form; `bind_tools` sets them."""
    _progress: Progress = PrivateAttr(default_factory=Progress)

    def __init__(
        self,
        script: Script,
        *,
        start: int = 0,
        position: Literal["calls", "history"] = "calls",
        usage: Usage = True,
        delay: float = 0.0,
        model_name: str = "scripted",
        prefix: str = "scripted",
        profile: ModelProfile | None = None,
        **settings: Any,
    ) -> None:
        settings.update(script=script if callable(script) else list(script), start=start, position=position)
        settings.update(usage=usage, delay=delay, model_name=model_name, prefix=prefix, profile=profile)
        super().__init__(**settings)

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """The messages of every request so far, in order; shared with bound copies."""
        return self._progress.requests

    @property
    def calls(self) -> int:
        """How many requests were made; those that raised count."""
        return len(self._progress.requests)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> "ScriptedChatModel":
        """A copy with these tools that shares position and `requests`. Other options are taken and ignored."""
        return self.model_copy(update={"tools": [convert_to_openai_tool(tool) for tool in tools]})

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_provider="scripted", ls_model_name=self.model_name, ls_model_type="chat")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer, error = self._next(messages)
        if error is not None:
            raise error
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer, error = self._next(messages)
        for chunk in words(answer) if error else chunks(answer):
            time.sleep(self.delay)
            yield chunk
        if error is not None:
            raise error

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        answer, error = self._next(messages)
        for chunk in words(answer) if error else chunks(answer):
            await asyncio.sleep(self.delay)
            yield chunk
        if error is not None:
            raise error

    def _next(self, messages: list[BaseMessage]) -> tuple[AIMessage, BaseException | None]:
        """The answer to a request, and the error that breaks its stream off."""
        index, number = self._progress.advance(messages, self.prefix, self.start, self.position)
        step = self._step(index, messages)
        identity = f"{self.prefix}-{number}"
        if isinstance(step, BaseException):
            step = broken("", step)
        if isinstance(step, Broken):
            self._progress.count_raised(messages, self.prefix, self.start)
            return completed(step.text, identity, self.model_name), step.error
        return self._with_usage(messages, completed(step, identity, self.model_name)), None

    def _step(self, index: int, messages: list[BaseMessage]) -> Any:
        step = self.script
        if not callable(step):
            if index >= len(step):
                raise ScriptExhausted(f"the script has {len(step)} steps and none for request {index + 1}; add one")
            step = step[index]
        if isinstance(step, type) and issubclass(step, BaseException):
            return step()
        return step(list(messages)) if callable(step) else step

    def _with_usage(self, messages: list[BaseMessage], answer: AIMessage) -> AIMessage:
        if answer.usage_metadata is not None or self.usage is False:
            return answer
        count = scripted_tokens(messages, self.tools) if self.usage is True else self.usage(messages, answer)
        if isinstance(count, int):
            output = scripted_tokens([answer])
            count = UsageMetadata(input_tokens=count, output_tokens=output, total_tokens=count + output)
        return answer.model_copy(update={"usage_metadata": count})
