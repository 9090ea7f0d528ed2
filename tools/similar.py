"""Names that a missing one may have been meant for."""

from difflib import get_close_matches
from posixpath import basename

from longthread.tools.beneath import open_folder

MAX_LOOKED_AT = 2_000
_NEVER_MEANT = {"node_modules", "__pycache__"}


def similar_paths(root: str, path: str, n: int = 3) -> list[str]:
    """Up to `n` files below `root` that are named like `path`, the same file name elsewhere first."""
    known = _some_paths(root)
    same = [other for other in known if basename(other) == basename(path)]
    close = get_close_matches(path, known, n, cutoff=0.6)
    names = get_close_matches(basename(path), {basename(other) for other in known}, n, cutoff=0.6)
    named = [other for other in known if basename(other) in names]
    return list(dict.fromkeys([*same, *close, *named]))[:n]


def _some_paths(root: str) -> list[str]:
    """Files, breadth first, so that the nearest are seen where there are too many; hidden folders left out."""
    found: list[str] = []
    folders: list[tuple[str, ...]] = [()]
    for parts in folders:
        if len(found) >= MAX_LOOKED_AT or len(folders) > MAX_LOOKED_AT:
            break
        files, deeper = _entries(root, parts)
        found += files
        folders += deeper
    return [path for path in found if path.isprintable()][:MAX_LOOKED_AT]


def _entries(root: str, parts: tuple[str, ...]) -> tuple[list[str], list[tuple[str, ...]]]:
    try:
        with open_folder(root, parts) as folder:
            entries = folder.entries()
    except OSError:
        return [], []
    files = ["/".join((*parts, name)) for name, kind in entries if kind in ("file", "link")]
    inner = [name for name, kind in entries if kind == "folder" and name not in _NEVER_MEANT and name[0] != "."]
    return files, [(*parts, name) for name in inner]
