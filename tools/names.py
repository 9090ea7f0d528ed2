"""Which paths a model may name at all."""

from pathlib import PurePath

from longthread.tools.errors import WorkspaceError

MAX_PATH_CHARACTERS = 4_096


def check_name(path: str) -> None:
    """Raise `WorkspaceError` for a path that names no file or may lead out."""
    if not path.strip() or len(path) > MAX_PATH_CHARACTERS:
        raise WorkspaceError(f"a path must have 1 to {MAX_PATH_CHARACTERS} characters, not {len(path)}; name a file")
    if "\0" in path:
        raise WorkspaceError(f"{path!r} has a NUL character, which no file name can have; leave it out")
    check_text(path)
    parts = PurePath(path).parts
    if ".." in parts:
        raise WorkspaceError(f"{path!r} has '..', which is not allowed; give a path relative to the workspace")
    if parts[:1] == ("~",):
        raise WorkspaceError(f"{path!r} begins with '~', which is not expanded; give a path relative to the workspace")


def check_text(path: str) -> None:
    """Raise `WorkspaceError` for a name that is not valid text: no checkpoint can hold it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise WorkspaceError(f"{path!r} is not valid text, so it cannot name a file here; use another name") from None
