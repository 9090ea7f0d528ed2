"""Names of threads: generated ones that can be read, given ones that can be used."""

import re
import secrets
import unicodedata
from collections.abc import Callable

from longthread.tools.errors import ThreadError

MAX_NAME = 120
_WORDS = 5


def new_name(task: str, taken: Callable[[str], bool]) -> str:
    """A free name from the first words of a task, such as `mend-the-failing-test-3fa2`."""
    plain = unicodedata.normalize("NFKD", task).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain)[:_WORDS])[:40].strip("-") or "thread"
    while taken(name := f"{slug}-{secrets.token_hex(2)}"):
        continue
    return name


def checked_name(name: str) -> str:
    """The name, if a thread can have it.

    Raises:
        ThreadError: says what is wrong with it.
    """
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise ThreadError(
            f"the thread name {name[: MAX_NAME + 1]!r} cannot be used; a name has 1 to {MAX_NAME} printable "
            "characters and no blanks around it"
        )
    return name
