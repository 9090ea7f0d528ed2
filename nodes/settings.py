"""The settings of compaction and reminders, checked when they are made.

Token numbers are tokens of the main model's window; the defaults are upper limits that
`CompactionConfig.for_context_window` scales down.
"""

import warnings
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from longthread.tools.errors import SettingsError

SystemRole = Literal["auto", "system", "user"]


class CompactionConfig(BaseModel):
    """When and how the history is made smaller. Every budget is in tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    compact_threshold: int | None = Field(default=None, gt=0)
    """Between turns: compact after an answer when occupancy is above this. `None`: never."""
    compact_request_threshold: int | None = Field(default=None, gt=0)
    """Between requests: compact before a request when occupancy is above this. `None`: never."""
    proactive: Literal["after_answer", "before_next_turn"] = "after_answer"
    """When the check against `compact_threshold` runs."""
    retained_tokens: int = Field(default=8_000, gt=0)
    """Newest messages kept as they are, tool results by their summary."""
    auto_read_budget: int = Field(default=8_000, ge=0)
    """Text of files read back in after a compaction."""
    compact_worker_max_input_tokens: int = Field(default=50_000, gt=0)
    """Input of the worker, added up over its requests."""
    prune_protected_tokens: int = Field(default=8_000, ge=0)
    """Newest tool results that are never shortened."""
    prune_min_savings: int = Field(default=4_096, gt=0)
    """A prune step happens only when it saves this much."""
    summary_max_tokens: int = Field(default=4_000, gt=0)
    """Upper limit of the worker's summary."""
    pinned_user_tokens: int = Field(default=2_000, ge=0)
    """The user's own words carried verbatim."""
    recent_files: int = Field(default=5, ge=0)
    """Files of the tracker that the worker is given as references."""
    max_failures: int = Field(default=3, gt=0)
    """Failed attempts in a row that open the breaker."""
    worker_max_requests: int = Field(default=20, gt=0)
    """Requests that the worker may make."""

    @classmethod
    def for_context_window(cls, tokens: int) -> Self:
        """Thresholds at 75 % and 90 % of a window (at least 4 000 tokens), budgets to match."""
        if tokens < 4_000:
            raise SettingsError(f"a context window of {tokens!r} tokens is too small; at least 4000 are needed")
        return cls(
            compact_threshold=tokens * 75 // 100,
            compact_request_threshold=tokens * 90 // 100,
            retained_tokens=min(8_000, tokens // 10),
            auto_read_budget=min(8_000, tokens // 10),
            compact_worker_max_input_tokens=min(50_000, tokens * 3),
            prune_protected_tokens=min(8_000, tokens // 10),
            prune_min_savings=min(4_096, tokens // 20),
            summary_max_tokens=min(4_000, tokens // 20),
            pinned_user_tokens=min(2_000, tokens // 40),
        )

    @property
    def smallest_threshold(self) -> int | None:
        """The smaller of the thresholds that are set."""
        return min((t for t in (self.compact_threshold, self.compact_request_threshold) if t is not None), default=None)

    @property
    def kept_at_most(self) -> int:
        """The largest new history that the budgets allow, in tokens."""
        return self.retained_tokens + self.auto_read_budget + self.summary_max_tokens + self.pinned_user_tokens

    def check(self) -> None:
        """Raise `SettingsError` where the budgets cannot fit below a threshold; warn of a reversed order."""
        smallest = self.smallest_threshold
        if smallest is not None and self.kept_at_most >= smallest:
            raise SettingsError(
                f"retained_tokens={self.retained_tokens} + auto_read_budget={self.auto_read_budget} + "
                f"summary_max_tokens={self.summary_max_tokens} + pinned_user_tokens={self.pinned_user_tokens} "
                f"= {self.kept_at_most} is not below the smallest threshold {smallest}; lower the budgets or "
                "raise the threshold (CompactionConfig.for_context_window scales both)"
            )
        if None not in (self.compact_threshold, self.compact_request_threshold) and self.reversed:
            warnings.warn(
                f"compact_threshold={self.compact_threshold} is above compact_request_threshold="
                f"{self.compact_request_threshold}: the safety net will act before the proactive check",
                stacklevel=4,
            )

    @property
    def reversed(self) -> bool:
        """The proactive threshold lies above the safety net."""
        return (self.compact_threshold or 0) > (self.compact_request_threshold or float("inf"))


class ReminderConfig(BaseModel):
    """When the open todos are shown again."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    idle_requests: int = Field(default=10, gt=0)
    """Requests without the list being shown before it is shown again."""
    each_turn: bool = True
    """Show it when a turn begins, if it was last shown in an earlier one."""


class Settings(BaseModel):
    """Both tables of a settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    compaction: CompactionConfig = CompactionConfig()
    reminders: ReminderConfig = ReminderConfig()
