"""OTLP/HTTP as a raw ASGI application: the hot path is a dictionary look-up and one body."""

import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from typing import Any, TypeAlias

import uvicorn

from ..ingest.errors import UsageError
from .answers import render_receipt, render_refusal
from .http_body import MAX_BODY_BYTES, inflate
from .intake import Intake, Signal
from .refusals import Reason, Refusal

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

PROTOBUF, JSON = "application/x-protobuf", "application/json"
_SIGNALS = {f"/v1/{signal.value}": signal for signal in Signal}


class HttpApp:
    """The ASGI application."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = media_type == JSON
        retry: list[tuple[bytes, bytes]] = []
        try:
            status, answer = await self._answer(scope, headers, media_type, receive)
        except Refusal as refusal:
            status, answer = refusal.reason.http_status, render_refusal(refusal, as_json=is_json)
            if refusal.retry_after_s is not None:
                retry = [(b"retry-after", str(refusal.retry_after_s).encode())]
        content = [
            (b"content-type", (JSON if is_json else PROTOBUF).encode()),
            (b"content-length", str(len(answer)).encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": content + retry})
        await send({"type": "http.response.body", "body": answer})

    async def _answer(
        self, scope: Mapping[str, Any], headers: Mapping[str, str], media_type: str, receive: Receive
    ) -> tuple[int, bytes]:
        path, method = scope["path"], scope["method"]
        if path == "/healthz":
            return 200, b""
        signal = _SIGNALS.get(path)
        if signal is None:
            raise Refusal(Reason.NOT_FOUND, f"there is no {path}; OTLP goes to " + ", ".join(_SIGNALS))
        if method != "POST":
            raise Refusal(Reason.METHOD, f"{path} takes POST, not {method}")
        if media_type not in (PROTOBUF, JSON):
            raise Refusal(Reason.UNSUPPORTED, f"content type {media_type!r} is not supported; use {PROTOBUF} or {JSON}")
        body = inflate(await _read_body(headers, receive), headers.get("content-encoding", "").strip().lower())
        receipt = await self._intake.accept(signal, body, is_json=media_type == JSON)
        return 200, render_receipt(signal, receipt, as_json=media_type == JSON)


async def _read_body(headers: Mapping[str, str], receive: Receive) -> bytes:
    announced = headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
        raise Refusal(Reason.TOO_LARGE, f"the body has {announced} bytes, more than {MAX_BODY_BYTES}")
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(Reason.MALFORMED, "the client went away")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            raise Refusal(Reason.TOO_LARGE, f"the body has more than {MAX_BODY_BYTES} bytes")
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class _Uvicorn(uvicorn.Server):
    """uvicorn, leaving the signals to the collector that it is a part of."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """A server bound to a port; 0 takes a free one."""

    def __init__(self, app: HttpApp, host: str, port: int) -> None:
        self._socket = _bind(host, port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", ws="none", server_header=False
        )
        self._server = _Uvicorn(config)

    async def serve(self) -> None:
        """Answers until `stop`."""
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Makes `serve` finish the requests under way and return."""
        self._server.should_exit = True


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"cannot listen on {host}:{port} for OTLP/HTTP: {error.strerror}",
            hint="another collector may be running; choose a port with --http-port, 0 for any free one",
        ) from error
    return listener
