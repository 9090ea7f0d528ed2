"""The worker's next request, fitted to what is left of its bound.

Its requests add up, and files may come one by one. So each request may take its share of what
is left: first older reads are shortened (the worker has judged them), then the overview.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from longthread.nodes.history.repair import repair
from longthread.nodes.settings import CompactionConfig
from longthread.nodes.worker.opening import render_opening, worker_prompt
from longthread.nodes.worker.state import WorkerState, conversation
from longthread.tools.cut import cut_middle
from longthread.tools.tokens import count_message

OVERVIEW_SHARE = 0.15
SMALLEST_OVERVIEW = 300
OLD_READ = 60
"""Tokens that stay of a file which the worker has already judged."""
FINISH = (
    "Little is left of your token budget. Finish now: mark what you know is needed, and call write_summary in the "
    "same message. Read nothing more."
)


@dataclass(frozen=True)
class Fitted:
    """A request and what it will cost, in tokens of the worker's model; `last` tells it to finish."""

    messages: list[AnyMessage]
    tokens: int
    last: bool


@dataclass(frozen=True)
class Fitter:
    """Fits requests for one worker."""

    config: CompactionConfig
    schema_tokens: int
    window: int | None
    """The worker model's own context window, where it is known."""

    def fit(self, state: WorkerState) -> Fitted | None:
        """The next request, or `None` where even the smallest would cross the bound."""
        scale = state["meter"]["scale"]
        left = round((self.config.compact_worker_max_input_tokens - state["meter"]["input"]) / scale)
        share = left // _requests_left(state) if state["meter"]["requests"] else left
        log = repair(conversation(state["log"]))
        if self._size(log) + self._most(state) > share:
            log = [*_with_old_reads_shortened(log)]
        room = min(share - self._size(log), self._most(state))
        if room < SMALLEST_OVERVIEW:
            room = min(SMALLEST_OVERVIEW, self._most(state))
        messages = self._messages(state, log, room)
        size = self._size(messages[1:])
        if size > left:
            return None
        return Fitted(messages, round(size * scale), last=left - size < size * 3 // 2)

    def _most(self, state: WorkerState) -> int:
        """What overview and previous summary may take at most, in local tokens."""
        scale = state["meter"]["scale"]
        most = self.config.compact_worker_max_input_tokens * OVERVIEW_SHARE
        if self.window is not None:
            most = min(most, self.window / 3)
        return int(most / scale) >> state["status"]["shrinks"]

    def _size(self, messages: Sequence[AnyMessage]) -> int:
        prompt = count_message(SystemMessage(worker_prompt()))
        return prompt + self.schema_tokens + sum(count_message(message) for message in messages)

    def _messages(self, state: WorkerState, log: Sequence[AnyMessage], room: int) -> list[AnyMessage]:
        opening = HumanMessage(render_opening(state["brief"][0], room), id="opening")
        return [SystemMessage(worker_prompt()), opening, *log]


def _requests_left(state: WorkerState) -> int:
    """Requests that a worker which reads one file at a time still needs."""
    desk, brief = state["desk"][0], state["brief"][0]
    unread = len(set(brief["files"]) - set(desk["read"]))
    to_mark = bool(brief["files"]) and not desk["marks"]
    return unread + to_mark + 1


def _with_old_reads_shortened(log: Sequence[AnyMessage]) -> list[AnyMessage]:
    newest = max((n for n, message in enumerate(log) if isinstance(message, AIMessage)), default=0)
    return [_shortened(message) if n < newest else message for n, message in enumerate(log)]


def _shortened(message: AnyMessage) -> AnyMessage:
    if not isinstance(message, ToolMessage) or message.name != "read_file":
        return message
    return message.model_copy(update={"content": cut_middle(str(message.content), OLD_READ, "you have seen them")})
