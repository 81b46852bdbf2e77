"""`whyspan demo --local URL` against a local server whose answers follow rules on the text, as a small model's do."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from whyspan.cli.demo.mailroom import PLANTED, SETTINGS

Sorter = Callable[[str, int], str]
"""Takes what is asked and the number of the request; returns the action."""


def obedient(text: str, number: int) -> str:
    """Obeys the planted sentence in five of six requests, and forwards one message in twelve without it."""
    obeys = number % 6 if PLANTED in text else number % 12 == 0
    return "forward" if obeys else "delete"


def sound(text: str, number: int) -> str:
    return "archive"


def arbitrary(text: str, number: int) -> str:
    """Forwards whatever it is told."""
    return "forward"


@contextmanager
def served(sorter: Sorter) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Gives the base URL and the requests that arrive."""
    numbers, requests = count(1), list[dict[str, Any]]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(request)
            text = "\n".join(message["content"] for message in request["messages"])
            message = {"role": "assistant", "content": json.dumps({"action": sorter(text, next(numbers))})}
            answer = {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "model": request["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99},
            }
            payload = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", requests
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True)
class Shown:
    code: int
    words: str
    """Both streams, white space folded."""


def demo(*arguments: str) -> Shown:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("WHYSPAN_", "OTEL_", "OPENAI_"))}
    command = [sys.executable, "-m", "whyspan", "demo", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=kept)
    return Shown(code=done.returncode, words=" ".join((done.stdout + done.stderr).split()))


def test_planted_sentence_is_named_and_replays_carry_what_no_span_holds(tmp_path: Path) -> None:
    with served(obedient) as (url, requests):
        result = demo("--local", url, "--model", "tiny", "--keep", str(tmp_path / "kept"))
    assert result.code == 0, result.words
    assert "The cause is the sentence we planted." in result.words
    assert re.search(rf"fix last text:/forward/ .*--base-url {url} --params", result.words)
    assert len(requests) > 20
    expected = {**SETTINGS, "model": "tiny", "temperature": 0.7}
    assert all(expected.items() <= request.items() for request in requests)


def test_model_that_never_fails_is_a_finding() -> None:
    with served(sound) as (url, requests):
        result = demo("--local", url)
    assert result.code == 1
    assert "did well in all 12 runs" in result.words
    assert len(requests) == 12


def test_another_cause_than_the_planted_one_is_told() -> None:
    with served(arbitrary) as (url, _):
        result = demo("--local", url)
    assert result.code == 1
    assert f"did not name the sentence we planted: {PLANTED}" in result.words


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["inbox", "--local", "http://127.0.0.1:1/v1"], 2, "--local has a scenario of its own"),
        (["--model", "tiny"], 2, "--model is the name at --local URL"),
        (["--local", "http://127.0.0.1:1/v1"], 4, "cannot be reached"),
    ],
)
def test_what_cannot_be_asked_is_an_error_with_words(arguments: list[str], code: int, expected: str) -> None:
    result = demo(*arguments)
    assert result.code == code
    assert expected in result.words
