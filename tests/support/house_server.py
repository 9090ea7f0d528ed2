"""A stand-in for the servers of several houses, on loopback: real HTTP, real server-sent events, strict.

    with HouseServer(AnthropicHouse()) as server:
        server.answer(Said("I look.", calls=(("read_file", {"path": "a"}),)), Said("Done."))
        model = ChatAnthropic(model="claude", base_url=server.url, api_key="k")

Requests that the house would refuse get its 400 and take no answer; see `faults`.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, Self

Body = dict[str, Any]
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Spent:
    """Tokens of one request: `fresh`, `read` from and `written` to the cache make up the whole input."""

    fresh: int = 100
    read: int = 0
    written: int = 0
    output: int = 20
    """With reasoning."""
    reasoning: int = 0

    @property
    def whole_input(self) -> int:
        return self.fresh + self.read + self.written


@dataclass(frozen=True)
class Said:
    """One answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True)
class Refused:
    """A reply with an error status, in the house's shape."""

    status: int
    message: str
    kind: str = ""
    """The house's own word for the kind of error; its usual one for the status when empty."""
    in_stream: bool = False
    """It comes as an event of a stream that began well."""


class House(Protocol):
    """A wire format: what is refused, and how answers are written."""

    def fault(self, path: str, body: Body) -> str | None: ...
    def refusal(self, refused: Refused) -> Body: ...
    def failure(self, refused: Refused) -> Body: ...
    def streams(self, path: str, body: Body) -> bool: ...
    def whole(self, said: Said, number: int, body: Body) -> Body: ...
    def events(self, said: Said, number: int, body: Body) -> Iterator[Body]: ...


class HouseServer:
    """The server and its script; use it in a `with`."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.requests: list[Body] = []
        """Bodies of all requests, refused ones too."""
        self.faults: list[str] = []
        """What was wrong with those that the house would refuse."""
        self._answers: list[Said | Refused] = []
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def answer(self, *answers: Said | Refused) -> None:
        """The answers to the next requests, after those already set."""
        self._answers.extend(answers)

    def reply(self, path: str, body: Body) -> tuple[int, Said | Refused]:
        """Number and answer of a request."""
        with self._lock:
            self.requests.append(body)
            if wrong := self.house.fault(path, body):
                self.faults.append(wrong)
                return len(self.requests), Refused(400, wrong)
            missing = Refused(400, "the stand-in server has no answer left")
            return len(self.requests), self._answers.pop(0) if self._answers else missing

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    owner: HouseServer
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up; that is no fault of the server."""


class _Handler(BaseHTTPRequestHandler):
    """One request a connection, so that no client keeps one open beyond its event loop."""

    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Keep standard error for the tests."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        house = self.server.owner.house
        number, reply = self.server.owner.reply(self.path, body)
        if isinstance(reply, Refused) and reply.in_stream:
            return self._send(200, "text/event-stream", _event(house.failure(reply)))
        if isinstance(reply, Refused):
            return self._send(reply.status, "application/json", json.dumps(house.refusal(reply)))
        if not house.streams(self.path, body):
            return self._send(200, "application/json", json.dumps(house.whole(reply, number, body)))
        events = "".join(map(_event, house.events(reply, number, body)))
        return self._send(200, "text/event-stream", events)

    def _send(self, status: int, kind: str, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text.encode())


def _event(data: Body) -> str:
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n"
