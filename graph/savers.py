"""Savers: where threads live. One object serves sync and async."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from longthread.tools.errors import StoreUnusable

BUSY_SECONDS = 10.0
"""How long a write waits for another process to finish its own."""


def open_saver(where: str | Path) -> BaseCheckpointSaver[Any]:
    """A saver for the SQLite file `where`, made with its folders if there is none; `":memory:"` works too.

    It serves `invoke` and `ainvoke`, also inside a notebook's running loop. Values are loaded in
    strict mode: a forged row cannot run code. Close it with `close()` or use it in a `with`.

    Raises:
        StoreUnusable: the file is no SQLite database, or cannot be opened or written.
    """
    if str(where).startswith(("postgres://", "postgresql://")):
        raise StoreUnusable(f"{str(where).split('@')[-1]!r}: Postgres is not supported yet; use a SQLite path")
    path = Path(where)
    try:
        if str(where) != ":memory:":
            path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(str(where), check_same_thread=False, timeout=BUSY_SECONDS)
        saver = SqliteThreads(connection)
        saver.setup()
    except (sqlite3.Error, OSError) as error:
        raise StoreUnusable(f"{str(where)!r} cannot be used as a thread store: {error}; choose another file") from error
    return saver


class SqliteThreads(SqliteSaver):
    """LangGraph's SQLite saver with an async side: each call runs in a thread, under the same lock."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.conn.close()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        found = await asyncio.to_thread(lambda: [*self.list(config, filter=filter, before=before, limit=limit)])
        for item in found:
            yield item

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
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
