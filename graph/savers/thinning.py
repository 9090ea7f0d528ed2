"""The SQL of thinning out a thread: which rows go."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

SUBGRAPH_CALL: Final = "%:%"
"""Namespaces of subgraphs that live for one task have its id behind a colon; others outlive their calls."""


class Statements(NamedTuple):
    """What a database is told."""

    checkpoint: str
    """Delete a checkpoint of the thread's own namespace."""
    writes: str
    """Delete the writes stored on it."""
    calls: tuple[str, str]
    """Delete checkpoints and writes of subgraph calls that are older than a checkpoint."""


SQLITE: Final = Statements(
    "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?",
    "DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?",
    (
        "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_ns LIKE ? AND checkpoint_id < ?",
        "DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns LIKE ? AND checkpoint_id < ?",
    ),
)
POSTGRES: Final = Statements(
    "DELETE FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = '' AND checkpoint_id = %s",
    "DELETE FROM checkpoint_writes WHERE thread_id = %s AND checkpoint_ns = '' AND checkpoint_id = %s",
    (
        "DELETE FROM checkpoints WHERE thread_id = %s AND checkpoint_ns LIKE %s AND checkpoint_id < %s",
        "DELETE FROM checkpoint_writes WHERE thread_id = %s AND checkpoint_ns LIKE %s AND checkpoint_id < %s",
    ),
)


class Executes(Protocol):
    """A cursor of either database."""

    def execute(self, query: Any, params: Any = ..., /) -> Any:
        """Run one statement."""

    def executemany(self, query: Any, params_seq: Any, /) -> Any:
        """Run it for each set of parameters."""


def thin(
    cursor: Executes, tell: Statements, thread: str, gone: Sequence[str], bare: Sequence[str], before: str
) -> None:
    """Delete checkpoints of the thread's own namespace, and those of subgraph calls older than `before`.

    Args:
        gone: checkpoints that are deleted with the writes on them.
        bare: checkpoints that stay, without the writes on them.
    """
    cursor.executemany(tell.checkpoint, [(thread, identity) for identity in gone])
    cursor.executemany(tell.writes, [(thread, identity) for identity in [*gone, *bare]])
    for statement in tell.calls:
        cursor.execute(statement, (thread, SUBGRAPH_CALL, before))
