"""Threads in a SQLite file."""

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.sqlite import SqliteSaver

from longthread.graph.latches import FileLatch, MemoryLatch
from longthread.graph.savers.base import BAD_NAME, Latch, ThreadSaver
from longthread.graph.savers.continuity import Chains, Standing, namespace_of, thread_of
from longthread.graph.savers.strict import StrictSerializer
from longthread.graph.savers.thinning import SQLITE, thin
from longthread.tools.errors import StoreUnusable, ThreadError

BUSY_SECONDS = 10.0
"""How long a write waits for another process to finish its own."""
MEMORY = ":memory:"
WAYS_OUT: Final = {
    "SQLITE_BUSY": "another process is writing to it; try again when that has ended",
    "SQLITE_LOCKED": "another process is writing to it; try again when that has ended",
    "SQLITE_FULL": "make room and resume the thread",
    "SQLITE_IOERR": "look to its disk and resume the thread",
    "SQLITE_READONLY": "make the file and its folder writable",
    "SQLITE_CANTOPEN": "make its folder readable and writable",
    "SQLITE_CORRUPT": "restore a backup, or choose another file",
    "SQLITE_NOTADB": "choose another file",
}
PARENTS = "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
STANDING = """
SELECT (SELECT checkpoint_id FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = :namespace
        ORDER BY checkpoint_id DESC LIMIT 1),
       (SELECT count(*) FROM writes
        WHERE thread_id = :thread AND checkpoint_ns = :namespace AND checkpoint_id = :checkpoint)
"""


def open_sqlite(where: str | Path) -> "SqliteThreads":
    """A saver for a file, made with its folders if it is not there."""
    name = str(where)
    if Path(where).is_dir():
        inside = str(Path(where) / "threads.db")
        raise StoreUnusable(
            f"{name!r} cannot be used as a thread store: it is a folder; name a file in it, as in {inside!r}"
        )
    try:
        if name != MEMORY:
            Path(where).parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(name, check_same_thread=False, timeout=BUSY_SECONDS, isolation_level=None)
    except (sqlite3.Error, OSError) as error:
        raise unusable(name, error) from error
    saver = SqliteThreads(connection, name)
    try:
        with saver.cursor(transaction=False):
            return saver
    except StoreUnusable:
        connection.close()
        raise


class SqliteThreads(ThreadSaver, SqliteSaver):
    """LangGraph's SQLite saver; every write is a transaction of its own, begun as a writer."""

    def __init__(self, connection: sqlite3.Connection, where: str = MEMORY) -> None:
        super().__init__(connection, serde=StrictSerializer(where))
        self.where = where
        self.chains = Chains()
        self._mutex = threading.RLock()

    def close(self) -> None:
        """Close the file."""
        with self._mutex:
            self.conn.close()

    def latch(self, thread_id: str) -> Latch:
        """A lock file beside the database; of a database in memory one in this process."""
        return MemoryLatch(self, thread_id) if self.where == MEMORY else FileLatch(Path(self.where), thread_id)

    def setup(self) -> None:
        """As LangGraph's; waits while another process makes the file, for which SQLite has no time-out."""
        end = time.monotonic() + BUSY_SECONDS
        while not self.is_setup:
            try:
                super().setup()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """As LangGraph's, but it joins an open transaction, rolls back on errors and types them."""
        with self._mutex, typed(self.where):
            self.setup()
            opens = transaction and not self.conn.in_transaction
            with closing(self.conn.cursor()) as cursor:
                if not opens:
                    yield cursor
                else:
                    yield from self._transaction(cursor)

    def _transaction(self, cursor: sqlite3.Cursor) -> Iterator[sqlite3.Cursor]:
        cursor.execute("BEGIN IMMEDIATE")  # a writer from the start: nobody can write after what is read
        try:
            yield cursor
            self.conn.commit()
        except BaseException:
            self.conn.rollback()
            raise

    def transaction(self, config: RunnableConfig) -> AbstractContextManager[sqlite3.Cursor]:
        """One writer of the whole file at a time."""
        return self.cursor()

    def standing(self, config: RunnableConfig, checkpoint_id: str | None) -> Standing:
        """What is stored in the config's namespace, and on this checkpoint."""
        names = {"thread": thread_of(config), "namespace": namespace_of(config), "checkpoint": checkpoint_id}
        with self.cursor(transaction=False) as cursor:
            return Standing(*cursor.execute(STANDING, names).fetchone())

    def parents(self, thread_id: str) -> dict[str, str | None]:
        """The checkpoints of the thread's own namespace, each with the one that it continues."""
        with self.cursor(transaction=False) as cursor:
            return dict(cursor.execute(PARENTS, (thread_id,)).fetchall())

    def rewrite(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, channels: Sequence[str]
    ) -> None:
        """The row holds its values itself."""
        self.put(config, checkpoint, metadata, {})

    def thin(self, thread_id: str, gone: Sequence[str], bare: Sequence[str], *, before: str) -> None:
        """Delete rows that no other one needs."""
        with self.cursor() as cursor:
            thin(cursor, SQLITE, thread_id, gone, bare, before)

    def shrink(self) -> None:
        """Write the file anew without its gaps; left for another time while another process uses it."""
        with suppress(StoreUnusable), self.cursor(transaction=False) as cursor:
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def typed(where: str) -> Iterator[None]:
    """SQLite's errors as `StoreUnusable`, with the file and the way out."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ThreadError(BAD_NAME.format(error.object)) from error
    except sqlite3.Error as error:
        raise unusable(where, error) from error


def unusable(where: str, error: Exception) -> StoreUnusable:
    """The error that names the file, what SQLite or the system says, and the way out."""
    code = getattr(error, "sqlite_errorname", "")
    way_out = next((way for start, way in WAYS_OUT.items() if code.startswith(start)), "choose another file")
    return StoreUnusable(f"{where!r} cannot be used as a thread store: {error}; {way_out}")
