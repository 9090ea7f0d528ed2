"""`langgraph dev` as a user starts it, in a folder of its own: the real `langgraph.json`, on loopback."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

CONFIG = Path(__file__).parents[2] / "langgraph.json"
QUIET = {"LANGGRAPH_NO_VERSION_CHECK": "true", "LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGSMITH_TRACING": "false"}
"""Nothing that would ask the network."""
SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class DevServer:
    """The process. `folder` is where it runs and writes `.langgraph_api/`; `settings` are its environment."""

    def __init__(self, folder: Path, **settings: str) -> None:
        shutil.copy(CONFIG, folder)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        where = ["--host", "127.0.0.1", "--port", str(self.port)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", *where],
                cwd=folder,
                env={"PATH": os.environ["PATH"], "HOME": str(folder), **QUIET, **settings},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            try:
                if httpx.get(f"{self.url}/ok", trust_env=False).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        self.close()
        raise RuntimeError(f"the server did not start:\n{self.log.read_text()}")

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
