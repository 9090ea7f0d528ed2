"""What every saver of ours adds to LangGraph's: an async side, continuity, a latch per thread, closing."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from longthread.graph.savers.continued import ContinuedSaver

BAD_NAME = "the name of a thread must be text that a database can hold, not {!r}: choose another name"


class Latch(Protocol):
    """The lock of one thread, as the store has it; what `thread_lock` waits for."""

    @property
    def holder(self) -> str:
        """Who has it, for people; empty where that is not known."""

    def try_take(self) -> bool:
        """Take it if it is free; never waits."""

    def release(self) -> None:
        """Give it back, and free what the tries used; also after tries that failed."""


class ThreadSaver(ContinuedSaver):
    """A LangGraph saver that serves sync and async: each async call runs in a worker thread."""

    @abstractmethod
    def close(self) -> None:
        """Close the store; a run that still uses it fails with `StoreUnusable`."""

    @abstractmethod
    def parents(self, thread_id: str) -> dict[str, str | None]:
        """The checkpoints of the thread's own namespace, each with the one that it continues."""

    @abstractmethod
    def rewrite(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, channels: Sequence[str]
    ) -> None:
        """Store a checkpoint once more, with other values of these channels; use `prune_thread`."""

    @abstractmethod
    def thin(self, thread_id: str, gone: Sequence[str], bare: Sequence[str], *, before: str) -> None:
        """Delete rows that no other one needs, in an open `transaction`; use `prune_thread`."""

    @abstractmethod
    def shrink(self) -> None:
        """Give back the room of deleted rows, where the store can."""

    @abstractmethod
    def latch(self, thread_id: str) -> Latch:
        """The thread's lock, not taken yet; use `thread_lock`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        found = await asyncio.to_thread(lambda: [*self.list(config, filter=filter, before=before, limit=limit)])
        for item in found:
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As `put`."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    # LangGraph looks for the parameter name `task_path`; without it parallel results change their order.
    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As `put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As `get_delta_channel_history`."""
        return await asyncio.to_thread(lambda: self.get_delta_channel_history(config=config, channels=channels))
