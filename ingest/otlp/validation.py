"""Which spans of a request can be stored. One that cannot never costs its neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from .text_repair import parse

_TRACE_ID = attrgetter("trace_id")
_SPAN_ID = attrgetter("span_id")
_ZERO_TRACE_ID = bytes(16)
_ZERO_SPAN_ID = bytes(8)
_REPAIRED = "text that is not UTF-8 was kept as bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidRequest:
    """The storable part of an export request."""

    message: Message
    """The request, parsed, without the rejected spans."""
    payload: bytes
    """The same as bytes."""
    accepted: int
    rejected: int
    reason: str = ""
    """What was wrong; empty when nothing was."""


def keep_valid_spans(payload: bytes) -> ValidRequest:
    """Returns a trace export request without the spans whose ids OTLP forbids (wrong length or all zero).

    Raises FormatError when the bytes are not such a request. A request with nothing wrong is returned as it came.
    """
    parsed = parse(payload, ExportTraceServiceRequest)
    groups = [scope_spans.spans for group in parsed.message.resource_spans for scope_spans in group.scope_spans]
    total, reason = sum(map(len, groups)), _REPAIRED if parsed.is_repaired else ""
    if all(map(_are_valid, groups)):
        return ValidRequest(message=parsed.message, payload=parsed.payload, accepted=total, rejected=0, reason=reason)
    for spans in groups:
        valid = [span for span in spans if _is_valid(span)]
        del spans[:]
        spans.extend(valid)
    rejected = total - sum(map(len, groups))
    return ValidRequest(
        message=parsed.message,
        payload=parsed.message.SerializeToString(),
        accepted=total - rejected,
        rejected=rejected,
        reason=f"{rejected} of {total} spans have a trace id or span id of the wrong length or all zero",
    )


def check_logs(payload: bytes) -> ValidRequest:
    """Returns a log export request as it is to be stored; raises FormatError when the bytes are not one."""
    parsed = parse(payload, ExportLogsServiceRequest)
    groups = [group.log_records for logs in parsed.message.resource_logs for group in logs.scope_logs]
    reason = _REPAIRED if parsed.is_repaired else ""
    accepted = sum(map(len, groups))
    return ValidRequest(message=parsed.message, payload=parsed.payload, accepted=accepted, rejected=0, reason=reason)


def _are_valid(spans: Iterable[SpanMessage]) -> bool:
    """Checks a list at once: per-span Python code would double the cost of receiving small spans."""
    trace_ids, span_ids = set(map(_TRACE_ID, spans)), list(map(_SPAN_ID, spans))
    return (
        set(map(len, trace_ids)) <= {16}
        and _ZERO_TRACE_ID not in trace_ids
        and set(map(len, span_ids)) <= {8}
        and _ZERO_SPAN_ID not in span_ids
    )


def _is_valid(span: SpanMessage) -> bool:
    return len(span.trace_id) == 16 and len(span.span_id) == 8 and any(span.trace_id) and any(span.span_id)
