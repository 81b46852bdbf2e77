"""A model endpoint on a loopback port that speaks every provider's API, and fails in the ways that a test orders."""

import json
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the server says; `cut` ends the connection after so many bytes of the body."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: int | None = None

    def encoded(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Received:
    path: str
    body: dict[str, Any]
    headers: dict[str, str]


@dataclass
class ModelServer:
    """Answers with `ordered` first, then with what `respond` says."""

    respond: Callable[[Received], Answer]
    ordered: deque[Answer] = field(default_factory=deque)
    received: list[Received] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Received) -> Answer:
        with self.lock:
            self.received.append(request)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            answer = self.ordered.popleft() if self.ordered else None
        answer = answer or self.respond(request)
        time.sleep(answer.delay_s)
        with self.lock:
            self.in_flight -= 1
        return answer


def chat_reply(request: Received, text: str = "fine", usage: tuple[int, int] = (10, 2)) -> Answer:
    """A chat completion with as many choices as were asked for."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    choices = [{**choice, "index": i} for i in range(request.body.get("n", 1))]
    tokens = {"prompt_tokens": usage[0], "completion_tokens": usage[1] * len(choices)}
    return Answer({"id": "r1", "model": "served", "choices": choices, "usage": tokens})


def random_word(*words: str, seed: int = 0) -> Callable[[Received], Answer]:
    """Returns a responder that says one of some words, at random."""
    chance = random.Random(seed)
    return lambda request: chat_reply(request, chance.choice(words))


@contextmanager
def model_server(respond: Callable[[Received], Answer] = chat_reply) -> Iterator[ModelServer]:
    """Runs a server for the length of a test."""
    server = ModelServer(respond)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {k.lower(): v for k, v in self.headers.items()}
            answer = server.answer(Received(self.path, body, headers))
            data = answer.encoded()
            try:
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data if answer.cut is None else data[: answer.cut])
            except OSError:
                self.close_connection = True
            if answer.cut is not None:
                self.wfile.flush()
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    http = Server(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
