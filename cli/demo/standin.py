"""The demo's stand-in for a language model: no key, no network, and every request gets a fresh sample.

It answers OpenAI chat requests, over HTTP (`serve_standin`) or as a Python function (`model`). A reply is drawn from
the policy of the model named, with chance derived from the seed, the request and how often that very request was made
before; so repeated requests vary, and nothing depends on the order in which different requests arrive.
"""

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any, cast

from .policies import POLICIES, Policy
from .reading import read


class RequestError(ValueError):
    """A request that a real endpoint would refuse as well."""

    def __init__(self, message: str, *, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


class Standin:
    """A model with a memory of how often it was asked the same."""

    def __init__(self, seed: int = 0, policies: Mapping[str, Policy] = POLICIES) -> None:
        self._seed = seed
        self._policies = policies
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answers an OpenAI chat request with an OpenAI chat completion. Raises RequestError."""
        name, choices = request.get("model"), request.get("n") or 1
        if name not in self._policies:
            known = ", ".join(self._policies)
            raise RequestError(f"the model {name!r} does not exist; there are {known}", status=HTTPStatus.NOT_FOUND)
        if request.get("stream"):
            raise RequestError("streaming is not supported")
        body = json.dumps({key: value for key, value in request.items() if key != "n"}, sort_keys=True)
        with self._lock:
            first = self._asked[body]
            self._asked[body] += choices
        try:
            policy = self._policies[str(name)]
            messages = [draw(policy, request, self._rng(body, first + index)) for index in range(choices)]
        except (KeyError, TypeError, AttributeError) as error:
            raise RequestError(f"this is not a chat request: {error!r}") from error
        return completion(request, messages, id=f"chatcmpl-{self._rng(body, first).getrandbits(96):024x}")

    def _rng(self, body: str, occurrence: int) -> Random:
        digest = hashlib.blake2b(f"{self._seed}\n{occurrence}\n{body}".encode(), digest_size=8).digest()
        return Random(int.from_bytes(digest))


def draw(policy: Policy, request: Mapping[str, Any], rng: Random) -> dict[str, Any]:
    """Returns one assistant message in OpenAI chat form."""
    reply = policy(read(request), rng)
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{rng.getrandbits(96):024x}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for name, arguments in reply.calls
        ]
    return message


def completion(request: Mapping[str, Any], messages: list[dict[str, Any]], *, id: str) -> dict[str, Any]:
    """Returns a chat completion; tokens are counted as four characters each."""
    prompt = len(json.dumps([request["messages"], request.get("tools")])) // 4
    output = sum(len(json.dumps(message)) // 4 for message in messages)
    return {
        "id": id,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request["model"],
        "choices": [
            {
                "index": index,
                "message": message,
                "logprobs": None,
                "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
            }
            for index, message in enumerate(messages)
        ],
        "usage": {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output},
    }


_standin = Standin()


def model(request: dict[str, Any]) -> dict[str, Any]:
    """The stand-in as a function, for `--model-fn`. Takes and returns OpenAI chat JSON; raises RequestError."""
    return _standin.complete(request)


@contextmanager
def serve_standin(*, seed: int = 0) -> Iterator[str]:
    """Serves `POST /v1/chat/completions` on a free loopback port; gives the base URL."""
    server = _Server(Standin(seed))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, standin: Standin) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.standin = standin


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet a response: with head and body apart, Nagle and delayed acknowledgements cost 40 ms a call.
    wbufsize = -1

    def do_POST(self) -> None:
        """Answers one chat request."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            if self.path != "/v1/chat/completions":
                raise RequestError(f"there is nothing at {self.path}", status=HTTPStatus.NOT_FOUND)
            request = json.loads(body)
            if not isinstance(request, dict):
                raise RequestError("the body is not a JSON object")
            self._answer(HTTPStatus.OK, cast(_Server, self.server).standin.complete(request))
        except json.JSONDecodeError as error:
            self._answer(HTTPStatus.BAD_REQUEST, _error(f"the body is not JSON: {error}"))
        except RequestError as error:
            self._answer(error.status, _error(str(error)))

    def _answer(self, status: HTTPStatus, document: dict[str, Any]) -> None:
        payload = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps quiet: standard error belongs to the demo."""


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
