"""OTLP/HTTP as a raw ASGI application: the hot path is a dictionary look-up and one body."""

import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import uvicorn

from ..ingest.errors import ConfigError, UsageError
from .answers import render_receipt, render_refusal
from .config import CollectorConfig, Limits, Tls
from .http_body import inflate
from .intake import Intake
from .refusals import Reason, Refusal
from .signals import Signal

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = Mapping[str, str]

PROTOBUF, JSON, TEXT = "application/x-protobuf", "application/json", "text/plain; version=0.0.4"
_SIGNALS = {
    **{f"/v1/{signal.value}": signal for signal in Signal},
    "/api/public/otel/v1/traces": Signal.TRACES,  # where the Langfuse SDKs send
}
_KEEP_ALIVE_S = 75


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP response."""

    status: int = 200
    media_type: str = TEXT
    body: bytes = b""
    headers: Headers = field(default_factory=dict)


class HttpApp:
    """The ASGI application. `readiness` returns why the collector cannot take requests, or nothing."""

    def __init__(self, intake: Intake, readiness: Callable[[], str]) -> None:
        self._intake = intake
        self._readiness = readiness

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = await self._answer(scope, headers, receive)
        lines = {"content-type": answer.media_type, "content-length": str(len(answer.body)), **answer.headers}
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in lines.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Mapping[str, Any], headers: Headers, receive: Receive) -> Answer:
        match scope["path"]:
            case "/healthz":
                return Answer()
            case "/readyz":
                problem = self._readiness()
                return Answer(status=503 if problem else 200, body=problem.encode())
            case "/metrics":
                return Answer(body=self._intake.meters.render())
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            return await self._export(scope, headers, media_type, receive)
        except Refusal as refusal:
            self._intake.meters.refused_requests.labels(refusal.reason.label).inc()
            return _refused(refusal, media_type)

    async def _export(self, scope: Mapping[str, Any], headers: Headers, media_type: str, receive: Receive) -> Answer:
        signal = _signal(scope["path"], scope["method"])
        client = self._intake.authenticator.client(headers.get("authorization", ""), (scope["client"] or ("?",))[0])
        if media_type not in (PROTOBUF, JSON):
            raise Refusal(Reason.UNSUPPORTED, f"content type {media_type!r}: use {PROTOBUF} or {JSON}")
        limits = self._intake.admission.limits
        with self._intake.admission.request(client, _announced(headers, limits)):
            raw = await _read_body(receive, limits)
            body = inflate(raw, headers.get("content-encoding", "").strip().lower(), limits.inflated_bytes)
            receipt = await self._intake.accept(signal, body, is_json=media_type == JSON)
        return Answer(media_type=media_type, body=render_receipt(signal, receipt, as_json=media_type == JSON))


def _signal(path: str, method: str) -> Signal:
    if path not in _SIGNALS:
        raise Refusal(Reason.NOT_FOUND, f"there is no {path}; OTLP goes to " + ", ".join(_SIGNALS))
    if method != "POST":
        raise Refusal(Reason.METHOD, f"{path} takes POST, not {method}")
    return _SIGNALS[path]


def _refused(refusal: Refusal, media_type: str) -> Answer:
    is_json = media_type == JSON
    headers = {}
    if refusal.retry_after_s is not None:
        headers["retry-after"] = str(refusal.retry_after_s)
    if refusal.reason is Reason.UNAUTHENTICATED:
        headers["www-authenticate"] = 'Bearer realm="whyspan"'
    if refusal.reason is Reason.METHOD:
        headers["allow"] = "POST"
    return Answer(
        status=refusal.reason.http_status,
        media_type=JSON if is_json else PROTOBUF,
        body=render_refusal(refusal, as_json=is_json),
        headers=headers,
    )


def _announced(headers: Headers, limits: Limits) -> int:
    """Returns the bytes that the client says it sends; refuses what is too large before reading it."""
    text = headers.get("content-length", "0")
    size = int(text) if text.isdigit() else 0
    if size > limits.body_bytes:
        raise Refusal(Reason.TOO_LARGE, f"the body has {size} bytes, more than {limits.body_bytes}")
    return size


async def _read_body(receive: Receive, limits: Limits) -> bytes:
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(Reason.MALFORMED, "the client went away")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limits.body_bytes:
            raise Refusal(Reason.TOO_LARGE, f"the body has more than {limits.body_bytes} bytes")
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class _Uvicorn(uvicorn.Server):
    """uvicorn, leaving the signals to the collector that it is a part of."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """A server bound to a port; 0 takes a free one."""

    def __init__(self, app: HttpApp, config: CollectorConfig) -> None:
        self._socket = _bind(config.host, config.http_port)
        self.port: int = self._socket.getsockname()[1]
        settings = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", ws="none", server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S, timeout_graceful_shutdown=5, **_tls_options(config.tls),
        )  # fmt: skip
        try:
            settings.load()
        except (OSError, ssl.SSLError) as error:
            self._socket.close()
            raise ConfigError(f"the TLS files cannot be used: {error}") from error
        self._server = _Uvicorn(settings)

    async def serve(self) -> None:
        """Answers until `stop`."""
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Makes `serve` finish the requests under way and return."""
        self._server.should_exit = True


def _tls_options(tls: Tls | None) -> dict[str, Any]:
    if tls is None:
        return {}
    options: dict[str, Any] = {"ssl_certfile": tls.certificate, "ssl_keyfile": tls.key}
    if tls.client_ca is not None:
        options |= {"ssl_ca_certs": str(tls.client_ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    return options


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
