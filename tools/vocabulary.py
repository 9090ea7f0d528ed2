"""tiktoken's o200k_base, but only when its vocabulary lies on this disk already: never a request.

tiktoken fetches a missing or damaged vocabulary from the network, which fails or hangs on a
machine without one. So the file that it would read is looked at first.
"""

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

O200K_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""SHA-1 of the vocabulary's address: its name in tiktoken's cache."""
_O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def o200k() -> "Encoding | None":
    """The encoding, or `None` where its vocabulary is not in tiktoken's cache. The first call may take 0.3 s."""
    return _encoding_in(_cache_folder())


def _cache_folder() -> str:
    """Where tiktoken caches: empty when that is switched off. Asked for each count, so no `Path` here."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    if folder is None:
        folder = os.environ.get("DATA_GYM_CACHE_DIR")
    return f"{tempfile.gettempdir()}/data-gym-cache" if folder is None else folder


@lru_cache(maxsize=8)
def _encoding_in(folder: str) -> "Encoding | None":
    if not folder or not _is_whole(Path(folder) / O200K_FILE):
        return None
    try:
        import tiktoken

        return tiktoken.get_encoding("o200k_base")
    except Exception:
        return None


def _is_whole(path: Path) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == _O200K_SHA256
    except OSError:
        return False
