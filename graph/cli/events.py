"""From LangGraph's stream to the events that the views show and `--json` prints.

Every event is a plain dict with `event`. In the order in which they can come:

| event | beside `event` |
|---|---|
| `run_start` | `thread`, `model`, `workspace`, `compact_threshold`, `compact_request_threshold`, `resumed` |
| `token` | `text`: a piece of the answer that is being written |
| `answer` | `text`, `calls` (number), `input_tokens`, `output_tokens` (`null`: unknown), `ending`: it is complete |
| `model_error` | `text`, `kind` (`transient`, `context`, `final`): a request failed; its tokens so far are void |
| `tool_call` | `id`, `name`, `args` |
| `approval` | `name`, `args`, `decision` (`approve`, `reject`), `reason` |
| `tool_result` | `id`, `name`, `ok`, `summary` |
| `todos` | `todos`: the list after a change |
| `todo_list` | `todos`: the list, as asked for by `/todos` |
| `occupancy` | `tokens`, `source`, `compact_threshold`, `compact_request_threshold` |
| `reminder`, `pruned`, `compact_start`, `compact_done`, `compact_failed`, `compact_skipped` | as the graph sends them |
| `note` | `text`: something that a person should know |
| `changes` | `files`: `path`, `change` (`added`, `modified`, `deleted`), `added`, `removed` (lines, or `null`) |
| `run_end` | `thread`, `requests`, `input_tokens`, `output_tokens`, `seconds` |
| `error` | `text`, `exit_code`: why the turn ended before its end; comes last |

`ending` is `null`, or how an answer failed to say everything: `empty`, `cut_off` (by the model's output limit),
`withheld` (by a content filter).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langgraph.types import Overwrite

from longthread.graph.cli.endings import ending_of
from longthread.nodes.settings import CompactionConfig
from longthread.tools.results import summary_of, text_of
from longthread.tools.text import one_line

Event = dict[str, Any]


@dataclass(frozen=True)
class Thresholds:
    """The two thresholds in force; `None` for one that is not set."""

    compact_threshold: int | None = None
    compact_request_threshold: int | None = None

    @classmethod
    def of(cls, config: CompactionConfig | None) -> "Thresholds":
        """Those of a configuration."""
        return cls(config.compact_threshold, config.compact_request_threshold) if config else cls()

    def as_dict(self) -> Event:
        """Both, as events carry them."""
        return {
            "compact_threshold": self.compact_threshold,
            "compact_request_threshold": self.compact_request_threshold,
        }


class Narrator:
    """Reads the parts of one thread's stream (`updates`, `messages`, `custom`, version 2) and tells events."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.thresholds = thresholds
        self.requests = 0
        self.input_tokens = 0
        self.output_tokens = 0

    def read(self, part: Mapping[str, Any]) -> Iterator[Event]:
        """The events of one part."""
        if part["ns"]:
            return
        if part["type"] == "messages":
            yield from self._token(*part["data"])
        elif part["type"] == "custom":
            if isinstance(part["data"], dict) and "event" in part["data"]:
                yield dict(part["data"])
        elif part["type"] == "updates":
            for node, update in part["data"].items():
                for each in update if isinstance(update, list) else [update]:
                    yield from self._update(node, each)

    def occupancy(self, found: Mapping[str, Any]) -> Event:
        """The event for an occupancy."""
        return {"event": "occupancy", "tokens": found["tokens"], "source": found["source"], **self.thresholds.as_dict()}

    def _token(self, chunk: BaseMessage, metadata: Mapping[str, Any]) -> Iterator[Event]:
        if not isinstance(chunk, AIMessageChunk) or metadata.get("langgraph_node") != "call_model":
            return
        if text := text_in(chunk.content):
            yield {"event": "token", "text": text}

    def _update(self, node: str, update: Any) -> Iterator[Event]:
        if not isinstance(update, Mapping):
            return
        for message in _written(update.get("messages")):
            if isinstance(message, AIMessage) and node == "call_model":
                yield from self._answer(message)
            elif isinstance(message, ToolMessage) and node == "execute_tools":
                yield _result(message)
        if "todos" in update:
            yield {"event": "todos", "todos": _value(update["todos"])}
        if found := update.get("occupancy"):
            yield self.occupancy(found)

    def _answer(self, message: AIMessage) -> Iterator[Event]:
        usage = message.usage_metadata
        self.requests += 1
        self.input_tokens += usage["input_tokens"] if usage else 0
        self.output_tokens += usage["output_tokens"] if usage else 0
        yield {
            "event": "answer",
            "text": text_in(message.content),
            "calls": len(message.tool_calls),
            "input_tokens": usage["input_tokens"] if usage else None,
            "output_tokens": usage["output_tokens"] if usage else None,
            "ending": ending_of(message),
        }
        for call in message.tool_calls:
            yield {"event": "tool_call", "id": call["id"], "name": call["name"], "args": call["args"]}


def _written(messages: Any) -> Sequence[Any]:
    """Messages that a node adds; none where it replaces the history, since those are not new."""
    return messages if isinstance(messages, list) else []


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Overwrite) else value


def _result(message: ToolMessage) -> Event:
    name, text, ok = message.name or "tool", text_of(message), message.status != "error"
    said = text.removeprefix("Error:") if not ok else text
    summary = summary_of(message) if said == text else one_line(f"{name}: {said}", 300)
    return {"event": "tool_result", "id": message.tool_call_id, "name": name, "ok": ok, "summary": summary}


def text_in(content: str | Sequence[Any]) -> str:
    """The text of a piece of an answer, blanks included; reasoning and calls left out."""
    if isinstance(content, str):
        return content
    blocks = (block if isinstance(block, str) else block.get("text") for block in content)
    return "".join(text for text in blocks if isinstance(text, str))
