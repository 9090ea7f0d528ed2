"""The version of what is stored: an older thread is migrated as it is loaded, a newer one is refused."""

from typing import Any, Self

from langgraph.channels import BinaryOperatorAggregate, DeltaChannel

from longthread.tools.errors import ThreadTooNew

VERSION = 1
"""Of the state's keys and their shapes. 0, in threads without the key: plain lists, todos without ids."""


class SchemaVersion(BinaryOperatorAggregate[int]):
    """The channel of `schema_version`: loading one above `VERSION` raises `ThreadTooNew`, whoever loads it."""

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """The channel with what is stored."""
        if isinstance(checkpoint, int) and checkpoint > VERSION:
            raise ThreadTooNew(checkpoint, VERSION)
        return super().from_checkpoint(checkpoint)


class MigratedDelta(DeltaChannel[Any]):
    """A delta channel that brings a plain value, as other graphs and version 0 store it, into its own shape."""

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """The channel with what is stored."""
        new = super().from_checkpoint(checkpoint)
        if checkpoint is new.value:  # stored plainly, not as a snapshot
            new.value = self.reducer(checkpoint, [])
        return new


def newest(old: int, new: int) -> int:
    """A reducer that never goes back."""
    return max(old, new)
