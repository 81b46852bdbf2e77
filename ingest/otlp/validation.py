"""Which spans of a request can be stored. One that cannot never costs its neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from .logs import parse_logs
from .traces import parse_traces

_TRACE_ID = attrgetter("trace_id")
_SPAN_ID = attrgetter("span_id")
_ZERO_TRACE_ID = bytes(16)
_ZERO_SPAN_ID = bytes(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidRequest:
    """The storable part of an export request."""

    payload: bytes
    """The request, without the rejected spans."""
    accepted: int
    rejected: int
    reason: str = ""
    """What was wrong; empty when nothing was."""


def keep_valid_spans(payload: bytes) -> ValidRequest:
    """Returns a trace export request without the spans whose ids OTLP forbids (wrong length or all zero).

    Raises FormatError when the bytes are not such a request. A request without invalid spans is returned as it came.
    """
    request = parse_traces(payload)
    groups = [scope_spans.spans for group in request.resource_spans for scope_spans in group.scope_spans]
    total = sum(map(len, groups))
    if all(map(_are_valid, groups)):
        return ValidRequest(payload=payload, accepted=total, rejected=0)
    for spans in groups:
        valid = [span for span in spans if _is_valid(span)]
        del spans[:]
        spans.extend(valid)
    accepted = sum(map(len, groups))
    reason = f"{total - accepted} of {total} spans have a trace id or span id of the wrong length or all zero"
    return ValidRequest(
        payload=request.SerializeToString(), accepted=accepted, rejected=total - accepted, reason=reason
    )


def check_logs(payload: bytes) -> ValidRequest:
    """Returns a log export request as it is to be stored; raises FormatError when the bytes are not one."""
    groups = [group for resource_logs in parse_logs(payload).resource_logs for group in resource_logs.scope_logs]
    return ValidRequest(payload=payload, accepted=sum(len(group.log_records) for group in groups), rejected=0)


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
