"""Settings from a TOML file with the tables `[compaction]` and `[reminders]`."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from longthread.nodes.settings import Settings
from longthread.tools.errors import SettingsError


def load_settings(path: str | Path) -> Settings:
    """The settings of a file; what it leaves out has its default.

    Raises:
        SettingsError: no such file, no TOML, an unknown key, or a value that cannot work.
    """
    try:
        return Settings.model_validate(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"settings file {str(path)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {str(path)!r} is not TOML: {error}") from error
    except ValidationError as error:
        raise SettingsError(f"settings file {str(path)!r}: {_faults(error)}") from error


def _faults(error: ValidationError) -> str:
    faults = (f"{'.'.join(map(str, fault['loc']))}={fault['input']!r}: {fault['msg']}" for fault in error.errors())
    return "; ".join(faults)
