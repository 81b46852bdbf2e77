"""One request to a model and its answer, as a span."""

import importlib
import json
import logging
import zlib
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from ..conventions import RECORD_REQUEST, RECORD_RESPONSE, RECORD_URL
from .endpoints import Endpoints, public_url
from .streams import assemble
from .tracing import get_tracer

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")
Redact = Callable[[dict[str, Any]], dict[str, Any]]


def shielded(function: Callable[P, T]) -> Callable[P, T | None]:
    """Returns the function so that it never raises: a recorder must not break what it records."""

    def guarded(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return function(*args, **kwargs)
        except Exception:
            log.debug("a model call could not be recorded", exc_info=True)
            return None

    return guarded


class Recorder:
    """Opens an exchange for each request that goes to a model."""

    def __init__(self, endpoints: Endpoints, *, content: bool, redact: Redact | None) -> None:
        self._endpoints = endpoints
        self._content = content
        self._redact = redact

    @shielded
    def begin(self, method: str, url: str, body: bytes) -> "Exchange | None":
        """Starts the span of a request; None for requests that ask no model."""
        if not self._endpoints.is_model_call(method, url):
            return None
        request = json.loads(body)
        model = request.get("model") or _model_in(url)
        span = get_tracer().start_span(f"chat {model}".strip(), kind=SpanKind.CLIENT)
        span.set_attribute(RECORD_URL, public_url(url))
        span.set_attribute("gen_ai.operation.name", "chat")
        if model:
            span.set_attribute("gen_ai.request.model", model)
        self._keep(span, RECORD_REQUEST, request)
        return Exchange(span, self._keep if self._content else None)

    @shielded
    def _keep(self, span: Span, key: str, body: Any) -> None:
        """Puts a body on the span; one whose redaction fails is not kept."""
        if not self._content:
            return
        if self._redact is not None and isinstance(body, dict):
            body = self._redact(body)
        span.set_attribute(key, json.dumps(body, ensure_ascii=False))


def _model_in(url: str) -> str:
    """Returns the model of the APIs that have it in the path: `…/models/M:generateContent`, `…/model/M/converse`."""
    path = urlsplit(url).path
    for marker in ("/models/", "/model/"):
        if marker in path:
            return path.partition(marker)[2].partition(":" if marker == "/models/" else "/")[0]
    return ""


class Exchange:
    """An open request; ends once, with the answer, with an error, or with a stream that was left."""

    def __init__(self, span: Span, keep: Callable[[Span, str, Any], None] | None) -> None:
        self._span = span
        self._keep = keep
        self._chunks: list[bytes] = []
        self._encoding = ""
        self._is_ended = False

    @shielded
    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Takes the answer's head; of its headers only the encoding is looked at."""
        self._encoding = headers.get("content-encoding", "")
        self._span.set_attribute("http.response.status_code", status)
        if status >= 400:
            self._span.set_status(Status(StatusCode.ERROR, f"HTTP {status}"))

    def feed(self, chunk: bytes) -> None:
        """Takes a piece of the body as it came over the wire."""
        if self._keep is not None:
            self._chunks.append(chunk)

    @shielded
    def end(self, *, decoded: bool = False) -> None:
        """Ends the span with what has come; `decoded` when the pieces are not compressed any more."""
        if self._is_ended:
            return
        self._is_ended = True
        try:
            self._write_answer(b"".join(self._chunks), "" if decoded else self._encoding)
        finally:
            self._span.end()

    def _write_answer(self, data: bytes, encoding: str) -> None:
        if self._keep is None or not data:
            return
        answer = assemble(decompress(data, encoding))
        if answer is not None:
            self._keep(self._span, RECORD_RESPONSE, answer)

    @shielded
    def failed(self, error: BaseException) -> None:
        """Ends the span of a request that got no answer."""
        if not self._is_ended:
            self._is_ended = True
            self._span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            self._span.set_attribute("error.type", type(error).__qualname__)
            self._span.end()


def decompress(data: bytes, encoding: str) -> bytes:
    """Returns a body without its content encoding; ValueError for one that this process cannot read."""
    match encoding.strip().lower():
        case "" | "identity":
            return data
        case "gzip" | "deflate":
            return zlib.decompressobj(wbits=47).decompress(data)
        case "br":
            # Without this library no client asks for the encoding.
            return bytes(importlib.import_module("brotli").decompress(data))
        case "zstd":
            import zstandard

            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    raise ValueError(f"content encoding {encoding}")
