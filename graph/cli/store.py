"""Where the command line keeps its threads."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longthread.tools.errors import ThreadNotFound

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

FILE = "threads.db"


def default_store(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """`LONGTHREAD_DB`, else `threads.db` in the user's state folder."""
    return environment.get("LONGTHREAD_DB", "").strip() or str(state_folder(environment, platform) / FILE)


def state_folder(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """`$XDG_STATE_HOME/longthread`, else the platform's own place; a relative XDG path is not used, as XDG says."""
    given = environment.get("XDG_STATE_HOME", "")
    if os.path.isabs(given):
        return Path(given) / "longthread"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "longthread"
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "longthread"
    return Path.home() / ".local" / "state" / "longthread"


def is_there(where: str) -> bool:
    """Whether the store can hold threads already; an address may."""
    return "://" in where or Path(where).exists()


@contextmanager
def open_store(where: str, *, must_exist: bool = False) -> "Iterator[BaseCheckpointSaver[Any]]":
    """The saver; a folder that is made for it is the user's alone, since threads hold what they worked on.

    Raises:
        ThreadNotFound: there must be a store and is none.
        StoreUnusable: it cannot be used.
    """
    from longthread.graph.savers import open_saver

    if must_exist and not is_there(where):
        raise ThreadNotFound(f"there are no threads yet: {where!r} does not exist; begin one with: longthread run TASK")
    if "://" not in where:
        with suppress(OSError):  # open_saver says what is wrong.
            Path(where).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(open_saver(where)) as saver:
        yield saver
