"""Fixtures for tests against the packages and wire formats of several houses."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents import Graph, ask_async, ask_sync, thread
from house_server import HouseServer
from houses import KINDS, Home

Run = Callable[[Graph, Any], dict[str, Any]]


@pytest.fixture(params=KINDS)
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    """Each house, its server running."""
    house, make = KINDS[request.param]
    with HouseServer(house()) as server:
        yield Home(request.param, server, make(server.url))


@pytest.fixture
def anthropic() -> Iterator[Home]:
    """Anthropic alone."""
    house, make = KINDS["anthropic"]
    with HouseServer(house()) as server:
        yield Home("anthropic", server, make(server.url))


def streamed(graph: Graph, given: Any) -> dict[str, Any]:
    """The last values of a run that streams its tokens."""
    given = {"messages": [("user", given)]} if isinstance(given, str) else given
    parts = list(graph.stream(given, thread(), stream_mode=["messages", "values"]))
    found: dict[str, Any] = next(data for kind, data in reversed(parts) if kind == "values")
    return found


def streamed_async(graph: Graph, given: Any) -> dict[str, Any]:
    """As `streamed`, in a loop of its own."""
    given = {"messages": [("user", given)]} if isinstance(given, str) else given

    async def collect() -> list[Any]:
        return [part async for part in graph.astream(given, thread(), stream_mode=["messages", "values"])]

    found: dict[str, Any] = next(data for kind, data in reversed(asyncio.run(collect())) if kind == "values")
    return found


WAYS: dict[str, Run] = {
    "invoke": ask_sync,
    "ainvoke": ask_async,
    "stream": streamed,
    "astream": streamed_async,
}


@pytest.fixture(params=WAYS)
def run(request: pytest.FixtureRequest) -> Run:
    """Each way to run a graph: whole or streamed, sync or async."""
    return WAYS[request.param]


@pytest.fixture(params=["invoke", "astream"])
def run_twice(request: pytest.FixtureRequest) -> Run:
    """Two of the ways, for tests that take longer."""
    return WAYS[request.param]
