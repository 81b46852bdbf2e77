"""The tracer that recorded spans go to: the application's, or one of our own when it has none."""

import functools

from opentelemetry import trace
from opentelemetry.trace import Tracer

from ..conventions import RECORD_SCOPE

_own: trace.TracerProvider | None = None


def use_endpoint(endpoint: str | None) -> None:
    """Sends recorded spans to an OTLP/HTTP endpoint when the application exports none itself.

    With an SDK set up, its spans and ours must stay in one trace, so its exporters are used. Without one, `endpoint`,
    else the standard `OTEL_EXPORTER_OTLP_*` variables, else 127.0.0.1:4318.
    """
    global _own
    if _own is None and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        url = f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        _own = provider
        tracer.cache_clear()


def get_tracer() -> Tracer:
    """Returns the tracer; that of the application from the moment it has set up an SDK."""
    provider = trace.get_tracer_provider()
    if _own is not None and isinstance(provider, trace.ProxyTracerProvider):
        provider = _own
    return tracer(provider)


@functools.lru_cache(maxsize=4)
def tracer(provider: trace.TracerProvider) -> Tracer:
    """Returns our tracer of a provider."""
    return provider.get_tracer(RECORD_SCOPE)
