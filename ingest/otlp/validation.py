"""Which spans of a request can be stored. One that cannot never costs its neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from .span_ids import are_ids_valid
from .text_repair import parse

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
    if are_ids_valid(parsed.payload) or all(map(_are_valid, groups)):
        return ValidRequest(message=parsed.message, payload=parsed.payload, accepted=total, rejected=0, reason=reason)
    for spans in groups:
        valid = [span for span in spans if _are_valid([span])]
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
    """Tells whether all spans can be stored."""
    for span in spans:
        trace_id, span_id = span.trace_id, span.span_id
        if len(trace_id) != 16 or len(span_id) != 8 or trace_id == _ZERO_TRACE_ID or span_id == _ZERO_SPAN_ID:
            return False
    return True
