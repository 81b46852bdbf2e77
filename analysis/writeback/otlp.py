"""Write-back by OTLP/HTTP, in protobuf: the one encoding that every backend takes.

A result is a new span in the agent's trace, since finished spans cannot be changed, and a log event where the endpoint
takes logs. Phoenix, Langfuse and MLflow do not.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from ...ingest.conventions import EVALUATION_EVENT
from ...ingest.errors import UpstreamError, UsageError
from ...ingest.otlp import encode_logs, encode_traces
from ...ingest.remote import Account, AnsweredError, Patience, Remote
from ...ingest.spans import LogRecord, Span
from .delivery import PROTOBUF, Delivery
from .results import Result

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
CHUNK = 512
"""Spans in a request, as exporters batch them."""
_TRACES, _LOGS = "/v1/traces", "/v1/logs"
_NO_LOGS = frozenset({404, 405, 415, 501})
"""Answers of an endpoint that takes no logs."""


def resolve_endpoint(endpoint: str | None, environ: Mapping[str, str] | None = None) -> str:
    """Returns the traces URL: the argument, or the standard exporter variables. `/v1/traces` is added where missing.

    Raises UsageError when no endpoint is configured.
    """
    env = os.environ if environ is None else environ
    if not endpoint and (url := env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")):
        return url
    base = endpoint or env.get(ENDPOINT_VARIABLE)
    if not base:
        raise UsageError("no endpoint to write back to", hint=f"--endpoint URL, or set {ENDPOINT_VARIABLE}")
    base = base.rstrip("/")
    return base if base.endswith("/v1/traces") else f"{base}/v1/traces"


def headers_from(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the headers that `OTEL_EXPORTER_OTLP_HEADERS` gives (`key=value,key=value`, percent-encoded)."""
    env = os.environ if environ is None else environ
    pairs = (p.partition("=") for p in env.get(HEADERS_VARIABLE, "").split(",") if "=" in p)
    return {key.strip(): unquote(value.strip()) for key, _, value in pairs}


def send_spans(spans: Sequence[Span], *, endpoint: str | None = None, environ: Mapping[str, str] | None = None) -> None:
    """Sends spans of whyspan's own, CHUNK in a request. Their ids are deterministic, so sending again is harmless.

    Raises UpstreamError when the endpoint does not take all of them, UsageError when there is none.
    """
    url = resolve_endpoint(endpoint, environ)
    with Remote(Account(base_url=url, headers=headers_from(environ), keys_hint=f"set {HEADERS_VARIABLE}")) as remote:
        for start in range(0, len(spans), CHUNK):
            body = encode_traces(spans[start : start + CHUNK])
            _check(remote.send("POST", "", body=body, headers=PROTOBUF), url)


class OtlpTarget:
    """An OTLP/HTTP endpoint."""

    def __init__(self, remote: Remote, *, has_paths: bool) -> None:
        self._remote = remote
        self._has_paths = has_paths
        """Whether the base URL has `/v1/traces` and `/v1/logs` under it, or is itself where traces go."""

    @property
    def base_url(self) -> str:
        """Where it is."""
        return self._remote.base_url

    def deliveries(self, results: Sequence[Result]) -> list[Delivery]:
        """Returns a span and a log event a result."""
        return [delivery for result in results for delivery in self._of(result)]

    def _of(self, result: Result) -> Iterator[Delivery]:
        span = result.span
        path = _TRACES if self._has_paths else ""
        yield Delivery(id=f"span {span.span_id}", path=path, headers=PROTOBUF, body=encode_traces([span]))
        if self._has_paths:
            body = encode_logs([_event(result)])
            yield Delivery(id=f"log {span.span_id}", path=_LOGS, headers=PROTOBUF, body=body, is_optional=True)

    def send(self, delivery: Delivery) -> bool:
        """Sends a span or an event; False when the endpoint takes no logs."""
        try:
            answer = self._remote.send(delivery.method, delivery.path, body=delivery.body, headers=PROTOBUF)
        except AnsweredError as error:
            if delivery.is_optional and error.status in _NO_LOGS:
                return False
            raise
        if delivery.path != _LOGS:
            _check(answer, self.base_url)
        return True

    def is_there(self, delivery: Delivery) -> None:
        """OTLP has no way to read anything back."""


def _event(result: Result) -> LogRecord:
    """Returns the evaluation event of a result, about the decision's span."""
    (event,) = (e for e in result.span.events if e.name == EVALUATION_EVENT)
    return LogRecord(
        trace_id=result.trace_id,
        span_id=result.span_id,
        time_ns=event.time_ns,
        event_name=EVALUATION_EVENT,
        attributes=event.attributes,
        resource=result.span.resource,
        scope=result.span.scope,
    )


def _check(body: bytes, url: str) -> None:
    """Raises UpstreamError for an answer that says that a span was rejected."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        partial = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError:
        return  # Some backends answer 200 with a body of their own; that is not a rejection.
    if partial.rejected_spans:
        raise UpstreamError(f"{url} rejected {partial.rejected_spans} spans: {partial.error_message}")


@contextmanager
def open_target(
    *,
    endpoint: str | None = None,
    environ: Mapping[str, str] | None = None,
    patience: Patience | None = None,
    **_: Any,
) -> Iterator[OtlpTarget]:
    """Opens an endpoint: the argument, or what the standard exporter variables say.

    Raises UsageError when there is none.
    """
    url = resolve_endpoint(endpoint, environ)
    base = url.removesuffix(_TRACES)
    account = Account(base_url=base, headers=headers_from(environ), keys_hint=f"set {HEADERS_VARIABLE}")
    with Remote(account, patience=patience) as remote:
        yield OtlpTarget(remote, has_paths=base != url)
