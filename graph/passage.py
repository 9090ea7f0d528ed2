"""What goes from a parent graph into the agent and back, by mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage, convert_to_messages
from langgraph.types import Command, Overwrite

from longthread.nodes.answers import stands_as_stamped
from longthread.nodes.history.snapshot import snapshot_todos
from longthread.nodes.state import merge_messages
from longthread.tools.errors import SettingsError

Mode = Literal["replace", "last"]


@dataclass(frozen=True)
class Passage:
    """The way in and out of one agent."""

    mode: Mode
    inputs: frozenset[str]
    """Keys that the agent takes."""

    def into(self, state: Any) -> dict[str, Any]:
        """The agent's input from the parent's state: a dict, a pydantic model or a dataclass."""
        values: Mapping[str, Any] = state if isinstance(state, Mapping) else vars(state)
        given = {key: values[key] for key in self.inputs & set(values) if key != "compact_request"}
        # With ids from their places, so that a parent that gives none hands in the same messages each time.
        messages = merge_messages(None, [self._messages(values)])
        return {**given, "messages": Overwrite(messages) if self.mode == "replace" else messages}

    def _messages(self, values: Mapping[str, Any]) -> Any:
        if "messages" not in values:
            raise SettingsError(f"the parent's state has no 'messages', only {sorted(values)!r}; give it that key")
        return values["messages"]

    def back(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The parent's update from what the agent returned.

        The answer alone does not show the snapshot of the todos that a compaction left in the
        history, so with it they travel as the list that they were.
        """
        whole: list[AnyMessage] = result["messages"]
        if self.mode == "replace":
            return {**result, "messages": Overwrite(list(whole))}
        update = {**result, "messages": answer_of(whole)}
        return update | {"todos": result["todos"] or snapshot_todos(whole)} if "todos" in result else update

    def over(self, command: Command[Any]) -> Command[Any]:
        """A handoff to the parent as it is, but for the agent's whole history in its update, which follows the mode."""
        update = command.update
        if not isinstance(update, dict) or not isinstance(update.get("messages"), list):
            return command
        given = convert_to_messages(update["messages"])
        if not _is_whole_history(given):
            return command
        messages = Overwrite(given) if self.mode == "replace" else answer_of(given)
        return replace(command, update={**update, "messages": messages})


def answer_of(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The newest assistant message, with the results of its calls where it ends in some."""
    newest = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], AIMessage)), len(messages))
    return [m for m in messages[newest:] if isinstance(m, AIMessage | ToolMessage)]


def _is_whole_history(messages: Sequence[BaseMessage]) -> bool:
    """The newest answer stands where it did when it came, so all that was before it is there."""
    newest = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], AIMessage)), None)
    return newest is not None and stands_as_stamped(messages, newest)
