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
from longthread.nodes.worker.state import Brief, WorkerState, conversation
from longthread.tools.cut import cut_middle
from longthread.tools.tokens import count_message, count_text

OVERVIEW_SHARE = 0.15
"""Of the worker's bound, for overview and previous summary together."""
WINDOW_SHARE = 0.75
"""Of the worker's own window, for a whole request; the rest is for the answer."""
SMALLEST_OVERVIEW = 300
OLD_READ = 30
"""Tokens that stay of a file which the worker has already judged."""
SURE = 0.95
"""Of what is left: a count that is an estimate keeps off the bound."""
QUARTER = 4
"""Once every file is read the summary may come at once: that request may take a quarter of what is left."""
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
        messages = self._messages(state, min(self._share(state, left), self._window(left, scale)))
        size = self._size(messages)
        if size > left:
            return None
        return Fitted(messages, round(size * scale), last=left - size < size * 3 // 2)

    def _share(self, state: WorkerState, left: int) -> int:
        """Of what is left, as much as the requests after this one, and the last of them first, can spare."""
        ahead, unread = _requests_left(state)
        if ahead == 1:
            return round(left * SURE)
        log = _with_old_reads_shortened(conversation(state["log"]))
        reserve = self._bare(state) + _tokens(log) + self._most(state) // 2
        share = max(0, left - reserve) // (ahead - 1)
        return share if unread or state["desk"][0]["marks"] else max(share, left // QUARTER)

    def _messages(self, state: WorkerState, share: int) -> list[AnyMessage]:
        """The request, in local tokens within its share where that can be."""
        log, most, bare = repair(conversation(state["log"])), self._most(state), self._bare(state)
        if state["status"]["shrinks"] or bare + _tokens(log) + most > share:
            log = _with_old_reads_shortened(log)
        room = min(most, max(SMALLEST_OVERVIEW, share - bare - _tokens(log)))
        opening = HumanMessage(render_opening(state["brief"][0], room), id="opening")
        return [SystemMessage(worker_prompt()), opening, *log]

    def _bare(self, state: WorkerState) -> int:
        """A request without overview, previous summary and log."""
        brief: Brief = {**state["brief"][0], "entries": [], "previous": ""}
        return self._size([SystemMessage(worker_prompt()), HumanMessage(render_opening(brief, 0))])

    def _most(self, state: WorkerState) -> int:
        """What overview and previous summary may take at most, in local tokens."""
        scale = state["meter"]["scale"]
        most = self.config.compact_worker_max_input_tokens * OVERVIEW_SHARE
        if self.window is not None:
            most = min(most, self.window / 3)
        limit, shrinks = int(most / scale), state["status"]["shrinks"]
        if shrinks:
            # Half of what was sent, which may have been less than it might.
            brief = state["brief"][0]
            limit = min(limit, count_text(render_opening(brief, limit)) - count_text(render_opening(brief, 0)))
        return max(0, limit >> shrinks)

    def _window(self, left: int, scale: float) -> int:
        return left if self.window is None else round(self.window * WINDOW_SHARE / scale)

    def _size(self, messages: Sequence[AnyMessage]) -> int:
        """With schemas, and with the words that may tell the worker to finish."""
        return self.schema_tokens + _tokens([*messages, HumanMessage(FINISH)])


def _tokens(messages: Sequence[AnyMessage]) -> int:
    return sum(map(count_message, messages))


def _requests_left(state: WorkerState) -> tuple[int, int]:
    """Requests that this worker still needs, and files that it has not read.

    By how it has gone about until now: all at once, or one by one. The first may take what it likes.
    """
    if not state["meter"]["requests"]:
        return 1, 0
    desk, files, answers = state["desk"][0], set(state["brief"][0]["files"]), conversation(state["log"])
    unread, unmarked = files - set(desk["read"]), files - {mark["path"] for mark in desk["marks"]}
    at_once = len(desk["read"]) > sum(isinstance(message, AIMessage) for message in answers)
    to_mark = bool(files) and not desk["marks"] if at_once else len(unmarked)
    return len(unread) + to_mark + 1, len(unread)


def _with_old_reads_shortened(log: Sequence[AnyMessage]) -> list[AnyMessage]:
    newest = max((n for n, message in enumerate(log) if isinstance(message, AIMessage)), default=0)
    return [_shortened(message) if n < newest else message for n, message in enumerate(log)]


def _shortened(message: AnyMessage) -> AnyMessage:
    if not isinstance(message, ToolMessage) or message.name != "read_file":
        return message
    return message.model_copy(update={"content": cut_middle(str(message.content), OLD_READ, "you have seen them")})
