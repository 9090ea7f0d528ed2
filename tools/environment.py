"""The environment that commands run in: the process's own, without what looks like a secret."""

import os
import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(
    r"KEYS?(_|$)|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|(^|_)(PAT|PWD|AUTH)(_|$)|^PGPASS",
    re.IGNORECASE,
)
_HARMLESS = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})
_PASSWORD_IN_ADDRESS = re.compile(r"\w+://[^/\s:@]*:[^/\s@]+@")


def command_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """A copy of the environment (default: `os.environ`) without secrets.

    Left out are variables named like a key, token, secret, password, credential or cookie
    (`OPENAI_API_KEY`, `GITHUB_TOKEN`, `PGPASSWORD`), and addresses with a password in them
    (`postgres://user:password@host`). A secret under a harmless name is not recognised.
    """
    given = os.environ if environment is None else environment
    return {name: value for name, value in given.items() if not _is_secret(name, value)}


def _is_secret(name: str, value: str) -> bool:
    if _PASSWORD_IN_ADDRESS.search(value):
        return True
    return name not in _HARMLESS and _SECRET_NAME.search(name) is not None
