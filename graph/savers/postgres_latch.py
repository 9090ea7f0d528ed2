"""The lock of one thread in Postgres."""

import hashlib
from typing import Any

import psycopg

from longthread.graph.savers.postgres_errors import typed

KEY = "hashtextextended(current_schema(), %s)"
"""SQL for the key of an advisory lock: they know no schemas, and another schema has threads of its own."""


def lock_seed(*names: str) -> int:
    """What `KEY` takes: 64 bits of a hash."""
    joined = "\0".join(("longthread", *names)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(joined).digest()[:8], signed=True)


class PostgresLatch:
    """An advisory lock of a connection of its own; the server frees it when the connection ends."""

    holder = ""

    def __init__(self, settings: dict[str, Any], where: str, thread_id: str) -> None:
        self._settings, self._where, self._seed = settings, where, lock_seed("run", thread_id)
        self._connection: psycopg.Connection[tuple[bool]] | None = None

    def try_take(self) -> bool:
        """Take it if it is free; waits for nothing but the server."""
        with typed(self._where):
            if self._connection is None:
                self._connection = psycopg.connect(**self._settings, autocommit=True)
            row = self._connection.execute(f"SELECT pg_try_advisory_lock({KEY})", (self._seed,)).fetchone()
            return bool(row and row[0])

    def release(self) -> None:
        """End the connection and the lock with it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
