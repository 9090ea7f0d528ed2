"""Threads in a Postgres database; needs the extra `postgres`."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool

from longthread.graph.savers.base import Latch, ThreadSaver
from longthread.graph.savers.continuity import Chains, Standing, namespace_of, thread_of
from longthread.graph.savers.postgres_errors import settings_of, shown, typed
from longthread.graph.savers.postgres_latch import KEY, PostgresLatch, lock_seed
from longthread.graph.savers.strict import StrictSerializer
from longthread.graph.savers.thinning import POSTGRES, thin
from longthread.tools.text import clean, storable

Cursor = psycopg.Cursor[DictRow]
Server = psycopg.Connection[DictRow]
WAIT_SECONDS = 10.0
"""How long to wait for the server, or for one of the pool's connections."""
CONNECTIONS = 8
"""Most connections of one saver; they are opened when they are needed."""
SESSION: Final[dict[str, Any]] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
ROW = ("thread_id", "checkpoint_ns", "checkpoint_id")
PARENTS = "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = ''"
UNSET = "DELETE FROM checkpoint_blobs WHERE thread_id = %s AND checkpoint_ns = '' AND channel = %s AND version = %s"
UNUSED = """
DELETE FROM checkpoint_blobs WHERE thread_id = %s AND (checkpoint_ns, channel, version) NOT IN (
  SELECT c.checkpoint_ns, v.key, v.value FROM checkpoints c, jsonb_each_text(c.checkpoint -> 'channel_versions') v
  WHERE c.thread_id = %s
)
"""
STANDING = """
SELECT (SELECT checkpoint_id FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_ns = %(namespace)s
        ORDER BY checkpoint_id DESC LIMIT 1) AS newest,
       (SELECT count(*) FROM checkpoint_writes
        WHERE thread_id = %(thread)s AND checkpoint_ns = %(namespace)s AND checkpoint_id = %(checkpoint)s) AS rows
"""


def open_postgres(address: str) -> "PostgresThreads":
    """A saver for a database that exists; its tables are made if they are not there."""
    settings = settings_of(address)
    with typed(where := shown(settings)):
        with psycopg.connect(**settings, **SESSION) as server:
            _set_up(server)
        pool: ConnectionPool[Server] = ConnectionPool(
            kwargs={**settings, **SESSION},
            min_size=0,
            max_size=CONNECTIONS,
            timeout=WAIT_SECONDS,
            reconnect_timeout=WAIT_SECONDS,  # else a server that is back is not asked again for minutes
            open=True,
            check=ConnectionPool.check_connection,  # a server that was restarted is found again
        )
    return PostgresThreads(pool, settings, where)


def _set_up(server: Server) -> None:
    """Make or migrate the tables, one process at a time.

    Tried, not waited for: making an index concurrently waits for every statement under way, a
    waiting lock among them.
    """
    if _version(server) == len(PostgresSaver.MIGRATIONS) - 1:
        return  # and no rights to make tables are needed
    while not _value(server.execute(f"SELECT pg_try_advisory_lock({KEY}) AS value", (lock_seed("setup"),))):
        time.sleep(0.05)
    PostgresSaver(server).setup()


def _version(server: Server) -> Any:
    try:
        return _value(server.execute("SELECT max(v) AS value FROM checkpoint_migrations"))
    except psycopg.errors.UndefinedTable:
        return None


def _value(cursor: Cursor) -> Any:
    row = cursor.fetchone()
    return row["value"] if row else None


class PostgresThreads(ThreadSaver, PostgresSaver):
    """LangGraph's Postgres saver; every write is a transaction of its own, one at a time per namespace."""

    def __init__(self, pool: ConnectionPool[Server], settings: dict[str, Any], where: str) -> None:
        super().__init__(pool, serde=StrictSerializer(where))
        self.where = where
        self.chains = Chains()
        self._pool, self._settings = pool, settings
        self._open = threading.local()
        """The cursor of the transaction that this thread has open."""

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def latch(self, thread_id: str) -> Latch:
        """An advisory lock."""
        return PostgresLatch(self._settings, self.where, thread_id)

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[Cursor]:
        """As LangGraph's, but it joins an open transaction, types errors, and serves threads side by side."""
        if (opened := getattr(self._open, "cursor", None)) is not None:
            yield opened
            return
        with (
            typed(self.where),
            self._pool.connection() as server,
            server.transaction() if pipeline else nullcontext(),  # that is how LangGraph asks for all or nothing
            server.cursor(binary=True) as cursor,
        ):
            yield cursor

    @contextmanager
    def transaction(self, config: RunnableConfig) -> Iterator[None]:
        """One writer in a namespace at a time; inside an open one it is part of that."""
        if getattr(self._open, "cursor", None) is not None:
            yield
            return
        seed = lock_seed("write", thread_of(config), namespace_of(config))
        with self._cursor(pipeline=True) as cursor:
            cursor.execute(f"SELECT pg_advisory_xact_lock({KEY})", (seed,))
            self._open.cursor = cursor
            try:
                yield
            finally:
                self._open.cursor = None

    def standing(self, config: RunnableConfig, checkpoint_id: str | None) -> Standing:
        """What is stored in the config's namespace, and on this checkpoint."""
        names = {"thread": thread_of(config), "namespace": namespace_of(config), "checkpoint": checkpoint_id}
        with self._cursor() as cursor:
            row = cursor.execute(STANDING, names).fetchone()
        return Standing(row["newest"], row["rows"]) if row else Standing(None, 0)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's, without what Postgres takes in no text (NUL, lone surrogates)."""
        values = {k: clean(v) if isinstance(v, str) else v for k, v in checkpoint["channel_values"].items()}
        return super().put(_texts(config), {**checkpoint, "channel_values": values}, metadata, new_versions)

    def parents(self, thread_id: str) -> dict[str, str | None]:
        """The checkpoints of the thread's own namespace, each with the one that it continues."""
        with self._cursor() as cursor:
            rows = cursor.execute(PARENTS, (thread_id,)).fetchall()
        return {row["checkpoint_id"]: row["parent_checkpoint_id"] for row in rows}

    def rewrite(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, channels: Sequence[str]
    ) -> None:
        """Values lie in rows of their own, which LangGraph never writes twice: the old ones go first."""
        versions = {name: checkpoint["channel_versions"][name] for name in channels}
        with self._cursor() as cursor:
            cursor.executemany(UNSET, [(thread_of(config), name, version) for name, version in versions.items()])
            self.put(config, checkpoint, metadata, versions)

    def thin(self, thread_id: str, gone: Sequence[str], bare: Sequence[str], *, before: str) -> None:
        """Delete rows that no other one needs, and the values that only they had."""
        with self._cursor(pipeline=True) as cursor:
            thin(cursor, POSTGRES, thread_id, gone, bare, before)
            cursor.execute(UNUSED, (thread_id, thread_id))

    def shrink(self) -> None:
        """The server takes care of that itself."""


def _texts(config: RunnableConfig) -> RunnableConfig:
    """The config with what becomes the row's metadata made clean; the names of the row stay as they are."""
    named = {
        key: clean(value) if isinstance(value, str) and key not in ROW else value
        for key, value in config["configurable"].items()
    }
    metadata = {key: storable(value) for key, value in (config.get("metadata") or {}).items()}
    return {**config, "configurable": named, "metadata": metadata}
