"""Where threads live: a SQLite file or a Postgres database, behind one function."""

from pathlib import Path

from longthread.graph.savers.base import ThreadSaver
from longthread.graph.savers.sqlite import open_sqlite
from longthread.tools.errors import StoreUnusable

__all__ = ["ThreadSaver", "open_saver"]

POSTGRES = ("postgres://", "postgresql://")
NO_POSTGRES = "threads in Postgres need the extra 'postgres' ({}): pip install 'longthread[postgres]'"


def open_saver(where: str | Path) -> ThreadSaver:
    """A saver for a SQLite path or a Postgres address; `":memory:"` keeps threads in this process.

    The file is made with its folders, the tables in an existing database, if they are not there. One
    object serves `invoke` and `ainvoke`, threads and event loops, also inside a notebook's running
    loop. Values are loaded in strict mode: a forged row cannot run code. A run that no longer
    continues the newest checkpoint of its thread is refused with `StaleRun`; `thread_lock` makes
    runs take turns instead. Close it with `close()` or use it in a `with`.

    Args:
        where: a path, or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, special characters in the
            password percent-encoded. Postgres needs `pip install 'longthread[postgres]'`.

    Raises:
        StoreUnusable: no database, cannot be opened, read or written, or the extra is missing. Also
            raised later, by a run, when the store fails under it: the thread can be resumed once
            the store is well again.
    """
    if not str(where).startswith(POSTGRES):
        return open_sqlite(where)
    try:
        from longthread.graph.savers.postgres import open_postgres
    except ImportError as error:  # psycopg raises it too where it finds no libpq
        raise StoreUnusable(NO_POSTGRES.format(str(error).splitlines()[0])) from error
    return open_postgres(str(where))
