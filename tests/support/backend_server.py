"""A back end on a loopback port whose failures a test can order: status codes, cut connections, wrong keys."""

import base64
import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Call:
    """One request as the server got it."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: Any
    headers: dict[str, str]

    def one(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[0]


@dataclass(frozen=True)
class Answer:
    """A status with a JSON value, bytes, or nothing."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


CUT = Answer(status=0)
"""The connection ends in the middle of the answer."""


class Backend:
    """What the back ends in the tests have in common: subclasses answer calls."""

    user = ""
    password = ""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.exchanges: list[tuple[Call, Answer]] = []
        self.failures: deque[Answer | None] = deque()
        """Answers to give instead of the next ones; None lets a request through."""
        self.dies_after: int | None = None
        """Number of requests after which every connection is cut, until it is set to None."""
        self.url = ""

    def answer(self, call: Call) -> Answer:
        raise NotImplementedError

    def handle(self, call: Call) -> Answer:
        self.calls.append(call)
        if self.dies_after is not None and len(self.calls) > self.dies_after:
            return CUT
        if self.failures and (failure := self.failures.popleft()) is not None:
            return failure
        if not self._is_allowed(call):
            return Answer(401, {"message": "Invalid credentials"})
        answer = self.answer(call)
        self.exchanges.append((call, answer))
        return answer

    def _is_allowed(self, call: Call) -> bool:
        expected = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return not self.user or call.headers.get("authorization") == f"Basic {expected}"

    @contextmanager
    def running(self) -> Iterator[Self]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _handler(backend: Backend) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def do_PATCH(self) -> None:
            self._answer("PATCH")

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _answer(self, method: str) -> None:
            parts = urlsplit(self.path)
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {key.lower(): value for key, value in self.headers.items()}
            body = json.loads(raw) if raw and "json" in headers.get("content-type", "") else raw
            answer = backend.handle(Call(method, parts.path, parse_qs(parts.query), body, headers))
            content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            if answer is CUT:
                self.close_connection = True
                self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
                return
            self.send_response(answer.status)
            for name, value in {"content-length": str(len(content)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    return Handler
