"""Fixtures for tests that run a graph."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents import Ask, ask_async, ask_sync
from longthread.graph import open_saver
from parents import WRAPS, Wrap


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Runs a graph, once by `invoke` and once by `ainvoke`."""
    return ask_sync if request.param == "sync" else ask_async


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    """A real SQLite file."""
    with open_saver(tmp_path / "threads.db") as opened:
        yield opened


@pytest.fixture(params=["plain", "replace", "last"])
def wrap(request: pytest.FixtureRequest) -> Wrap:
    """The ways to make an agent a node."""
    return WRAPS[request.param]
