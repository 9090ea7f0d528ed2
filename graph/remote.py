"""The whole conversation of a thread on a LangGraph server, over its HTTP API.

A thread's `messages` begin with the newest summary. What stood there before is in the checkpoints that
the thread's `segments` name in `compacted_from`: one GET of `/threads/{id}/state`, and one of
`/threads/{id}/state/{compacted_from}` for each segment. From a program in another language, do the same.
"""

from typing import Any, cast

from langchain_core.messages import AnyMessage, convert_to_messages
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient
from langgraph_sdk.schema import ThreadState

from longthread.graph.lineage import whole


def remote_transcript(client: SyncLangGraphClient, thread_id: str) -> list[AnyMessage]:
    """Every message of the thread over all its segments, each once and whole, in order.

    Without what compactions put in (`additional_kwargs["source"]` tells); but where the server no longer
    has the checkpoint before one, its summary stands for what is missing.
    """
    now = client.threads.get_state(thread_id)
    found = [client.threads.get_state(thread, checkpoint_id=id) for thread, id in _checkpoints(now, thread_id)]
    return whole(map(_messages, [*found, now]))


async def aremote_transcript(client: LangGraphClient, thread_id: str) -> list[AnyMessage]:
    """As `remote_transcript`, with the async client."""
    now = await client.threads.get_state(thread_id)
    found = [await client.threads.get_state(thread, checkpoint_id=id) for thread, id in _checkpoints(now, thread_id)]
    return whole(map(_messages, [*found, now]))


def _checkpoints(now: ThreadState, thread_id: str) -> list[tuple[str, str]]:
    """Thread and id of the checkpoint before each compaction, the first one first."""
    segments = _values(now).get("segments") or []
    return [(s.get("thread") or thread_id, s["compacted_from"]) for s in segments if s["compacted_from"]]


def _values(state: ThreadState) -> dict[str, Any]:
    return state["values"] if isinstance(state["values"], dict) else {}


def _messages(state: ThreadState) -> list[AnyMessage]:
    """A server hands messages out as plain JSON."""
    return cast("list[AnyMessage]", convert_to_messages(_values(state).get("messages") or []))
