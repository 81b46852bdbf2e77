"""Langfuse's ids as OpenTelemetry ids, always the same for the same input.

Langfuse takes any text as an id. Those that OpenTelemetry made are kept, UUIDs lose their dashes, others are hashed.
"""

import hashlib
import re

from ...spans import SpanId, TraceId

_TRACE = re.compile(r"[0-9a-f]{32}")
_SPAN = re.compile(r"[0-9a-f]{16}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_otel_trace(id: str) -> bool:
    """Tells whether a trace id can be an OpenTelemetry id as it is."""
    return _TRACE.fullmatch(id) is not None and id.strip("0") != ""


def trace_id_of(id: str) -> TraceId:
    """Returns the trace id for a Langfuse trace id."""
    if is_otel_trace(id):
        return TraceId(id)
    if _UUID.fullmatch(id):
        return TraceId(id.replace("-", ""))
    return TraceId(hashlib.sha256(f"langfuse\0{id}".encode()).hexdigest()[:32])


def span_id_of(trace: str, observation: str) -> SpanId:
    """Returns the span id for an observation; hashed ones depend on the trace as well."""
    if _SPAN.fullmatch(observation) and observation.strip("0"):
        return SpanId(observation)
    return SpanId(hashlib.sha256(f"langfuse\0{trace}\0{observation}".encode()).hexdigest()[:15] + "1")
