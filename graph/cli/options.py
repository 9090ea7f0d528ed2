"""What a command works with: the options given, what the thread remembers, the environment, the defaults."""

import argparse
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit, urlunsplit

from longthread.graph.cli.parse import UsageError
from longthread.graph.cli.store import default_store
from longthread.graph.models import PROVIDERS
from longthread.tools.text import clean

DEFAULT_MODEL = "openai:gpt-5-mini"
_PASSWORD = re.compile(r"(://[^:/@?]*:|[?&]password=)[^@&]+")
AllowCommands = Literal["ask", "always", "never"]


@dataclass(frozen=True)
class Setup:
    """Everything that a run needs to know before its graph is built."""

    workspace: Path
    model: str
    base_url: str | None = None
    allow_commands: AllowCommands = "ask"
    context_window: int | None = None
    settings: Path | None = None
    max_requests: int | None = None
    store: str = ""
    store_option: str | None = None
    """`--db` as it was given."""
    json: bool = False
    resumable: bool = True
    """Whether another process could go on with its threads."""

    def metadata(self) -> dict[str, Any]:
        """What the thread remembers: nothing secret, and no permission to run commands."""
        remembered = {
            "workspace": str(self.workspace),
            "model": self.model,
            "base_url": without_secrets(self.base_url),
            "allow_commands": "never" if self.allow_commands == "never" else None,
            "context_window": self.context_window,
            "settings": str(self.settings) if self.settings else None,
        }
        return {key: value for key, value in remembered.items() if value is not None}

    def resume_command(self, thread: str) -> str:
        """What to type to go on; nothing where nobody could."""
        if not self.resumable:
            return ""
        permission = ["--allow-commands", "always"] if self.allow_commands == "always" else []
        store = ["--db", shown_store(self.store_option)] if self.store_option else []
        return shlex.join(["longthread", "resume", thread, *permission, *store])


def store_of(given: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> str:
    """The thread store: `--db`, else `LONGTHREAD_DB`, else the state folder.

    Raises:
        UsageError: a path that is no text.
    """
    where = str(given.db or default_store(environment))
    if "://" not in where:
        _storable("thread store", where)
    return where


def settle(
    given: argparse.Namespace, remembered: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> Setup:
    """The setup of a run on a thread; options win over what the thread remembers, that over the environment.

    Raises:
        UsageError: an address that is none, or a path that is no text.
    """
    base_url = _address("--base-url", given.base_url or _text(remembered, "base_url"))
    model = given.model or _text(remembered, "model") or environment.get("LONGTHREAD_MODEL") or DEFAULT_MODEL
    full_name = _full_name(clean(model.strip()), bool(base_url or environment.get("OPENAI_BASE_URL")))
    if not base_url and full_name.startswith("openai:"):
        _check_environment(environment)
    settings = given.settings or _text(remembered, "settings")
    window = remembered.get("context_window")
    return Setup(
        workspace=_path("workspace", given.workspace or _text(remembered, "workspace") or "."),
        model=full_name,
        base_url=base_url,
        allow_commands=cast(AllowCommands, given.allow_commands or _text(remembered, "allow_commands") or "ask"),
        context_window=given.context_window or (window if isinstance(window, int) else None),
        settings=_path("settings file", settings) if settings else None,
        max_requests=given.max_requests,
        store=store_of(given, environment),
        store_option=given.db,
        json=given.json,
    )


def _text(remembered: Mapping[str, Any], key: str) -> str | None:
    value = remembered.get(key)
    return value if isinstance(value, str) and value else None


def _path(what: str, given: str) -> Path:
    return Path(_storable(what, str(Path(given).expanduser().absolute())))


def _storable(what: str, path: str) -> str:
    """The path, if it is text: bytes of another encoding come as surrogates, which no store holds."""
    if clean(path) != path:
        raise UsageError(f"the {what} {path!r} has a name that is not UTF-8; rename it, or choose another")
    return path


def _check_environment(environment: Mapping[str, str]) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        if url := environment.get(name, "").strip():
            _address(name, url)
            return


def _address(name: str, url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"{name} {url!r} is no address; write it whole, as in http://127.0.0.1:8000/v1")
    return url.strip()


def _full_name(model: str, own_server: bool) -> str:
    provider, colon, _ = model.partition(":")
    return f"openai:{model}" if own_server and model and not (colon and PROVIDERS.fullmatch(provider)) else model


def shown_store(where: str) -> str:
    """The store as it may be shown: a path as it is, an address with its password masked."""
    return _PASSWORD.sub(r"\1***", where) if "://" in where else where


def without_secrets(url: str | None) -> str | None:
    """The address without user, password, query and fragment, in which keys are passed."""
    if url is None:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
