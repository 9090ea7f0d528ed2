"""Postgres' errors in our words. No text here ever holds a password."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from longthread.graph.savers.base import BAD_NAME
from longthread.tools.errors import StoreUnusable, ThreadError

UNREADABLE = (
    "the Postgres address cannot be read: write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, "
    "with special characters in the password percent-encoded"
)
PORTS = frozenset("0123456789,")
DEFAULTS = {"connect_timeout": "10", "application_name": "longthread", "keepalives_idle": "30"}


def settings_of(address: str) -> dict[str, Any]:
    """What psycopg connects with. Raises `StoreUnusable` for an address that cannot be read."""
    try:
        settings = conninfo_to_dict(address)
    except psycopg.Error:  # quotes the address, and with it the password
        raise StoreUnusable(UNREADABLE) from None
    # A password with a bare "/" or "@" in it is read as host, port and database.
    read = [str(settings.get(key, "")) for key in ("host", "port", "dbname")]
    if "@" in "".join(read) or not set(read[1]) <= PORTS:
        raise StoreUnusable(UNREADABLE)
    return {**DEFAULTS, **settings}


def shown(settings: dict[str, Any]) -> str:
    """The address without user and password."""
    host, port = settings.get("host", "localhost"), settings.get("port", "5432")
    return f"postgresql://{host}:{port}/{settings.get('dbname', '')}"


@contextmanager
def typed(where: str) -> Iterator[None]:
    """Postgres' errors as `StoreUnusable`, with the address and the way out."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ThreadError(BAD_NAME.format(error.object)) from error
    except psycopg.Error as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise StoreUnusable(f"{where!r} cannot be used as a thread store: {said}; {_way_out(error)}") from error


def _way_out(error: psycopg.Error) -> str:
    if isinstance(error, psycopg.OperationalError):
        return "check that the server runs and the address is right, then resume the thread"
    if isinstance(error, psycopg.DataError):
        return "the value cannot be stored in Postgres"
    return "check the database and the rights of its user"
