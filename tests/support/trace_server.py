"""A stand-in for LangSmith, on loopback: takes runs in its real wire format and puts them together.

    with recorded() as traces:
        graph.invoke(...)
    [root] = traces.roots()

A process of its own is traced with `LANGSMITH_TRACING=true` and `LANGSMITH_ENDPOINT=server.url`.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from langsmith import Client, tracing_context

Body = dict[str, Any]
INGEST = {
    "use_multipart_endpoint": False,
    "size_limit": 100,
    "size_limit_bytes": 20_971_520,
    "scale_up_qsize_trigger": 1_000,
    "scale_up_nthreads_limit": 16,
    "scale_down_nempty_trigger": 4,
}
INFO = {"version": "0.13.0", "instance_flags": {}, "batch_ingest_config": INGEST}


@dataclass
class Run:
    """One run, put together from its POST and its PATCH."""

    body: Body
    children: list["Run"] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.body["name"])

    @property
    def metadata(self) -> Body:
        found: Body = (self.body.get("extra") or {}).get("metadata") or {}
        return found

    def tree(self) -> Any:
        """The name, with the trees of the children where there are some."""
        return (self.name, [child.tree() for child in self.children]) if self.children else self.name

    def all(self, name: str) -> list["Run"]:
        """This run and those below it that have the name, in order."""
        below = [run for child in self.children for run in child.all(name)]
        return [self, *below] if self.name == name else below


class TraceServer:
    """The server and what it received. Close it, or use it in a `with`."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        """Method and path of each request."""
        self.raw: list[bytes] = []
        """The bodies of the batches."""
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def roots(self) -> list[Run]:
        """The traces, each with its children in the order in which they began."""
        runs: dict[str, Run] = {}
        for body in sorted(self._bodies(), key=lambda body: "dotted_order" not in body):
            run = runs.setdefault(body["id"], Run({}))
            run.body.update({key: value for key, value in body.items() if value is not None})
        ordered = sorted(runs.values(), key=lambda run: str(run.body["dotted_order"]))
        for run in ordered:
            if parent := run.body.get("parent_run_id"):
                runs[parent].children.append(run)
        return [run for run in ordered if not run.body.get("parent_run_id")]

    def _bodies(self) -> list[Body]:
        batches = [json.loads(raw) for raw in self.raw]
        return [body for batch in batches for kind in ("post", "patch") for body in batch.get(kind) or []]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@contextmanager
def recorded() -> Iterator[TraceServer]:
    """Everything that runs inside is traced to the server, which has it all at the end."""
    with TraceServer() as server:
        client = Client(api_url=server.url, api_key="lsv2-for-tests")
        with tracing_context(enabled=True, client=client, project_name="tests"):
            yield server
        client.flush()
        client.close()


class _Server(ThreadingHTTPServer):
    owner: TraceServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Keep standard error for the tests."""

    def do_GET(self) -> None:
        self._answer(200, INFO if self.path == "/info" else {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/runs/batch":
            self.server.owner.raw.append(raw)
        self._answer(202, {})

    def _answer(self, status: int, body: Body) -> None:
        self.server.owner.requests.append(f"{self.command} {self.path}")
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
