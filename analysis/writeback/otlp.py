"""Write-back by OTLP/HTTP, in protobuf: the one encoding that every backend takes."""

import os
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import httpx

from ...ingest.errors import UpstreamError, UsageError
from ...ingest.otlp import encode_traces
from ...ingest.spans import Span

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"


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


def send_spans(spans: Sequence[Span], url: str, headers: Mapping[str, str], *, timeout_s: float = 10.0) -> None:
    """Sends spans in one request. Their ids are deterministic, so sending again is harmless.

    Raises UpstreamError when the endpoint does not take all of them.
    """
    content = {"content-type": "application/x-protobuf", **headers}
    try:
        response = httpx.post(url, content=encode_traces(spans), headers=content, timeout=timeout_s)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise UpstreamError(f"{url} cannot be reached: {error}", transient=True) from error
    if response.status_code != httpx.codes.OK:
        raise UpstreamError(f"{url} answered {response.status_code}: {response.text[:200]}")
    rejected = _rejected(response.content)
    if rejected:
        raise UpstreamError(f"{url} rejected {rejected} of {len(spans)} spans")


def _rejected(body: bytes) -> int:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        return int(ExportTraceServiceResponse.FromString(body).partial_success.rejected_spans)
    except DecodeError:
        # Some backends answer 200 with a body of their own; that is not a rejection.
        return 0
