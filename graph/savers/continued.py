"""The rule of continuity in front of a LangGraph saver."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from longthread.graph.savers.continuity import Chains, Standing, is_chain


class ContinuedSaver(BaseCheckpointSaver[str]):
    """Refuses what does not continue the newest checkpoint (see `continuity`).

    It stands before LangGraph's saver among the base classes; that saver's own calls must join an
    open `transaction`.
    """

    chains: Chains

    @abstractmethod
    def transaction(self, config: RunnableConfig) -> AbstractContextManager[object]:
        """All or nothing, and nobody else writes to the config's namespace meanwhile."""

    @abstractmethod
    def standing(self, config: RunnableConfig, checkpoint_id: str | None) -> Standing:
        """What is stored in the config's namespace, and on this checkpoint."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As LangGraph's."""
        found = super().get_tuple(config)
        if is_chain(config):
            older = config["configurable"].get("checkpoint_id")
            newest = self.standing(config, None).newest if older else found and found.checkpoint["id"]
            self.chains.loaded(config, found, newest)
        return found

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """As LangGraph's, but read at once: the store is free while the caller goes through it."""
        found = [*super().list(config, filter=filter, before=before, limit=limit)]
        if config is not None and is_chain(config):  # how a replayed subgraph loads
            self.chains.loaded(config, found[0] if found else None, self.standing(config, None).newest)
        return iter(found)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's. Raises `StaleRun` in a run that does not continue the newest checkpoint."""
        if not is_chain(config):
            with self.transaction(config):
                return super().put(config, checkpoint, metadata, new_versions)
        chain, parent = self.chains.of(config), config["configurable"].get("checkpoint_id")
        with chain.lock:
            with self.transaction(config):
                chain.check(self.standing(config, parent), parent)
                chain.check_time(checkpoint["id"])
                stored = super().put(config, checkpoint, metadata, new_versions)
            chain.stored(checkpoint["id"])
        return stored

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's. Raises `StaleRun` as `put` does."""
        if not is_chain(config):
            with self.transaction(config):
                return super().put_writes(config, writes, task_id, task_path)
        chain, onto = self.chains.of(config), config["configurable"]["checkpoint_id"]
        with chain.lock:
            with self.transaction(config):
                chain.check(self.standing(config, onto), onto)
                super().put_writes(config, writes, task_id, task_path)
                rows = self.standing(config, onto).rows
            chain.rows[onto] = rows
