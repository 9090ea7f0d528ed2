"""A stand-in for an OpenAI-compatible server, on loopback: real HTTP, real server-sent events.

    openai_server.answer("Hello.", Reply(calls=(("read_file", {"path": "a"}),)), Refusal(500, "oh"), "Done.")
    model = resolve_model("openai:test", base_url=openai_server.base_url)

Every request takes the next answer; a function (body) → answer decides from the request. Requests
that a real server would refuse get its 400 and take no answer.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from openai_wire import Body, Refusal, Reply, completion, events, fault, usage_of

__all__ = ["Answer", "OpenAIServer", "Refusal", "Reply"]

Answer = str | Reply | Refusal
Script = Callable[[Body], Answer]


class OpenAIServer:
    """The server and its script. Close it, or use it in a `with`."""

    def __init__(self) -> None:
        self.requests: list[Body] = []
        """Bodies of all requests, refused ones too."""
        self.faults: list[str] = []
        """What was wrong with the requests that a real server would refuse."""
        self.usage = True
        """`False`: usage is never reported."""
        self.context_window: int | None = None
        """Requests with more prompt tokens than this are refused as too long."""
        self.system_first = False
        """As strict chat templates: a system message only at the head."""
        self.api_key: str | None = None
        """The one key that is let in; `None`: any."""
        self.closing = threading.Event()
        self.connections: set[socket.socket] = set()
        self._answers: list[Answer] = []
        self._script: Script | None = None
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def answer(self, *answers: Answer) -> None:
        """The answers to the next requests, after those already set."""
        self._answers.extend(answers)

    def answer_by(self, script: Script) -> None:
        """A function that answers every request for which no answer is set."""
        self._script = script

    def reply_to(self, body: Body, key: str) -> tuple[int, Reply | Refusal]:
        """Number and answer of a request."""
        with self._lock:
            self.requests.append(body)
            number = len(self.requests)
            refusal = self._refusal(body, key)
            answer = refusal or self._next(body)
        return number, Reply(answer) if isinstance(answer, str) else answer

    def _refusal(self, body: Body, key: str) -> Refusal | None:
        if self.api_key is not None and key != f"Bearer {self.api_key}":
            return Refusal(401, "Incorrect API key provided: wrong.", code="invalid_api_key")
        if wrong := fault(body, self.system_first):
            self.faults.append(wrong)
            return Refusal(400, wrong)
        tokens = usage_of(body, Reply())["prompt_tokens"]
        if self.context_window is not None and tokens > self.context_window:
            return Refusal.too_long(tokens, self.context_window)
        return None

    def _next(self, body: Body) -> Answer:
        if self._answers:
            return self._answers.pop(0)
        return self._script(body) if self._script else Refusal(500, "the stand-in server has no answer left")

    def close(self) -> None:
        """End every connection and the server."""
        self.closing.set()
        self._http.shutdown()
        for connection in list(self.connections):
            _end(connection)
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    owner: OpenAIServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up; that is no fault of the server."""


class _Handler(BaseHTTPRequestHandler):
    """One request a connection, so that no client keeps one open beyond its event loop."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.owner.connections.add(self.connection)

    def finish(self) -> None:
        self.server.owner.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep standard error for the tests."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self._send_json(404, Refusal(404, f"Invalid URL (POST {self.path})").body())
        number, reply = self.server.owner.reply_to(body, self.headers.get("Authorization", ""))
        if isinstance(reply, Refusal):
            return self._send_json(reply.status, reply.body(), reply.headers)
        if reply.silent:
            self.server.owner.closing.wait()
            return self._hang_up()
        if not body.get("stream"):
            self.server.owner.closing.wait(reply.delay)
            return self._send_json(200, completion(reply, number, body, self.server.owner.usage))
        return self._send_stream(reply, events(reply, number, body, self.server.owner.usage))

    def _send_json(self, status: int, body: Body, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Connection", "close")
        for name, value in {"Content-Type": "application/json", "Content-Length": len(data), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def _send_stream(self, reply: Reply, sent: Iterable[Body]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        for n, event in enumerate(sent):
            self.server.owner.closing.wait(reply.delay)
            if n == reply.cut_after:
                return self._hang_up()
            if n == reply.ended_after:
                return self._end_stream(": a comment, as proxies send to keep a connection\n\n")
            if n == reply.half_event_after:
                return self._end_stream(f"data: {json.dumps(event)[:20]}\n\n")
            if reply.error_after and n == reply.error_after[0]:
                return self._end_stream(f"data: {json.dumps(reply.error_after[1].body())}\n\n")
            self._send_chunk(f"data: {json.dumps(event)}\n\n")
        return self._end_stream("data: [DONE]\n\n")

    def _end_stream(self, last: str) -> None:
        self._send_chunk(last)
        self.wfile.write(b"0\r\n\r\n")

    def _send_chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        _end(self.connection)


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
