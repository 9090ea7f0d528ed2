"""The page `docs/settings.md`, made from the code; as a script it writes the page."""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from longthread.graph import CompactionConfig, ReminderConfig, create_agent
from longthread.graph.context import AgentContext

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
WINDOWS = (8_000, 32_000, 128_000, 200_000, 1_000_000)
SCALED = (
    "compact_threshold",
    "compact_request_threshold",
    "retained_tokens",
    "auto_read_budget",
    "prune_protected_tokens",
    "prune_min_savings",
    "summary_max_tokens",
    "pinned_user_tokens",
)
OPENING = """# Settings

This page is made from the code: `python tests/support/settings_page.py` writes it, and a test compares. Numbers of
tokens are tokens of the agent's own model.
"""
USE = """## From code or from a file

```python
from pathlib import Path

from longthread.graph import CompactionConfig, ScriptedChatModel, create_agent, load_settings

config = CompactionConfig(compact_threshold=60_000, compact_request_threshold=90_000, pinned_user_tokens=4_000)
scaled = CompactionConfig.for_context_window(32_000)
assert (scaled.compact_threshold, scaled.compact_request_threshold) == (24_000, 28_800)

Path("settings.toml").write_text(\"\"\"
[compaction]
compact_threshold = 60000

[reminders]
idle_requests = 5
\"\"\")
settings = load_settings("settings.toml")
agent = create_agent(ScriptedChatModel([]), compaction=settings.compaction, reminders=settings.reminders)
```

An unknown key is an error, and so are budgets that do not fit: `retained_tokens + auto_read_budget +
summary_max_tokens + pinned_user_tokens` must be below the smallest threshold that is set. The error gives the numbers.
`compact_threshold` above `compact_request_threshold` is a warning only: the safety net then acts first.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(
        [
            OPENING,
            *_table("CompactionConfig", CompactionConfig),
            *_windows(),
            *_table("ReminderConfig", ReminderConfig),
            USE,
            *_table("AgentContext", AgentContext),
            *_arguments(),
        ]
    )


def _table(name: str, model: type[BaseModel]) -> Iterator[str]:
    yield f"## `{name}`\n\n{_first_paragraph(model)}\n"
    yield "| field | type | default | |\n|---|---|---|---|"
    for field, info in model.model_fields.items():
        kind = str(model.__annotations__[field]).removeprefix("typing.")
        kind = re.sub(r"<class '(\w+)'>", r"\1", kind).replace("|", "\\|")
        default = "" if info.default is PydanticUndefined else f"`{_number(info.default)}`"
        yield f"| `{field}` | `{kind}` | {default} | {_one_line(info.description or '')} |"
    yield ""


def _number(value: Any) -> str:
    return f"{value:_}" if isinstance(value, int) and not isinstance(value, bool) else repr(value)


def _windows() -> Iterator[str]:
    configs = [CompactionConfig.for_context_window(window) for window in WINDOWS]
    yield "What `CompactionConfig.for_context_window(n)` makes of a window; the other fields keep their defaults:\n"
    yield f"| | {' | '.join(f'{window:_}' for window in WINDOWS)} |\n|---|{'---|' * len(WINDOWS)}"
    for name in SCALED:
        yield f"| `{name}` | {' | '.join(f'{getattr(config, name):_}' for config in configs)} |"
    yield ""


def _arguments() -> Iterator[str]:
    yield "## `create_agent`\n"
    yield "All but the first two by keyword; `build_agent` takes the same but for `checkpointer` and `store`.\n"
    yield "| argument | default | |\n|---|---|---|"
    described = _described(inspect.getdoc(create_agent) or "")
    for name, parameter in inspect.signature(create_agent).parameters.items():
        default = "" if parameter.default is parameter.empty else f"`{_default(parameter.default)}`"
        yield f"| `{name}` | {default} | {described[name]} |"
    yield ""


def _default(value: Any) -> str:
    return f"{type(value).__name__}()" if isinstance(value, BaseModel) else _number(value)


def _described(doc: str) -> Mapping[str, str]:
    """Argument name → its text, from the docstring's `Args:`."""
    args = doc.partition("Args:\n")[2].partition("\n\nRaises:")[0]
    found = re.findall(r"^    (\w+): (.*?)(?=^    \w|\Z)", args, re.MULTILINE | re.DOTALL)
    return {name: _one_line(text).capitalize()[:1] + _one_line(text)[1:] for name, text in found}


def _first_paragraph(model: type[BaseModel]) -> str:
    return inspect.cleandoc(model.__doc__ or "")


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
