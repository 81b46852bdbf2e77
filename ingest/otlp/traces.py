"""Trace export requests ⇄ spans."""

from collections.abc import Iterable

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from ..spans import Link, Resource, Scope, Span, SpanEvent, SpanId, TraceId
from .grouping import group_by_sender
from .text_repair import parse
from .values import (
    read_attributes,
    read_resource,
    read_scope,
    write_attributes,
    write_resource,
    write_scope,
)


def decode_traces(data: bytes) -> list[Span]:
    """Returns the spans of an encoded trace export request (or TracesData), in the order sent.

    Raises FormatError when the bytes are not such a message.
    """
    request = parse_traces(data)
    spans = []
    for resource_spans in request.resource_spans:
        resource = read_resource(resource_spans.resource, resource_spans.schema_url)
        for scope_spans in resource_spans.scope_spans:
            scope = read_scope(scope_spans.scope, scope_spans.schema_url)
            spans += [_read_span(message, resource, scope) for message in scope_spans.spans]
    return spans


def parse_traces(data: bytes) -> ExportTraceServiceRequest:
    """Returns the parsed request; raises FormatError when the bytes are not one.

    Text that is not UTF-8 does no harm: values become bytes, see `text_repair`.
    """
    return parse(data, ExportTraceServiceRequest).message


def encode_traces(spans: Iterable[Span]) -> bytes:
    """Returns a trace export request that decodes to the same spans in the same order."""
    request = ExportTraceServiceRequest()
    for span, new_resource, new_scope in group_by_sender(spans):
        if new_resource:
            resource_spans = request.resource_spans.add()
            resource_spans.schema_url = span.resource.schema_url
            write_resource(resource_spans.resource, span.resource)
        if new_scope:
            scope_spans = resource_spans.scope_spans.add()
            scope_spans.schema_url = span.scope.schema_url
            write_scope(scope_spans.scope, span.scope)
        _write_span(scope_spans.spans.add(), span)
    return request.SerializeToString()


def _read_span(message: SpanMessage, resource: Resource, scope: Scope) -> Span:
    return Span(
        trace_id=TraceId(message.trace_id.hex()),
        span_id=SpanId(message.span_id.hex()),
        parent_span_id=SpanId(message.parent_span_id.hex()) if any(message.parent_span_id) else None,
        name=message.name,
        kind=message.kind,
        start_ns=message.start_time_unix_nano,
        end_ns=message.end_time_unix_nano,
        attributes=read_attributes(message.attributes),
        events=tuple(_read_event(event) for event in message.events),
        links=tuple(_read_link(link) for link in message.links),
        status_code=message.status.code,
        status_message=message.status.message,
        trace_state=message.trace_state,
        flags=message.flags,
        dropped_attributes_count=message.dropped_attributes_count,
        dropped_events_count=message.dropped_events_count,
        dropped_links_count=message.dropped_links_count,
        resource=resource,
        scope=scope,
    )


def _read_event(message: SpanMessage.Event) -> SpanEvent:
    return SpanEvent(
        time_ns=message.time_unix_nano,
        name=message.name,
        attributes=read_attributes(message.attributes),
        dropped_attributes_count=message.dropped_attributes_count,
    )


def _read_link(message: SpanMessage.Link) -> Link:
    return Link(
        trace_id=TraceId(message.trace_id.hex()),
        span_id=SpanId(message.span_id.hex()),
        trace_state=message.trace_state,
        attributes=read_attributes(message.attributes),
        dropped_attributes_count=message.dropped_attributes_count,
        flags=message.flags,
    )


def _write_span(message: SpanMessage, span: Span) -> None:
    message.trace_id = bytes.fromhex(span.trace_id)
    message.span_id = bytes.fromhex(span.span_id)
    message.parent_span_id = bytes.fromhex(span.parent_span_id or "")
    message.name = span.name
    message.kind = span.kind  # type: ignore[assignment]  # open enum: unknown numbers are kept
    message.start_time_unix_nano = span.start_ns
    message.end_time_unix_nano = span.end_ns
    write_attributes(message.attributes, span.attributes)
    for event in span.events:
        _write_event(message.events.add(), event)
    for link in span.links:
        _write_link(message.links.add(), link)
    if span.status_code or span.status_message:
        message.status.code = span.status_code  # type: ignore[assignment]
        message.status.message = span.status_message
    message.trace_state = span.trace_state
    message.flags = span.flags
    message.dropped_attributes_count = span.dropped_attributes_count
    message.dropped_events_count = span.dropped_events_count
    message.dropped_links_count = span.dropped_links_count


def _write_event(message: SpanMessage.Event, event: SpanEvent) -> None:
    message.time_unix_nano = event.time_ns
    message.name = event.name
    write_attributes(message.attributes, event.attributes)
    message.dropped_attributes_count = event.dropped_attributes_count


def _write_link(message: SpanMessage.Link, link: Link) -> None:
    message.trace_id = bytes.fromhex(link.trace_id)
    message.span_id = bytes.fromhex(link.span_id)
    message.trace_state = link.trace_state
    write_attributes(message.attributes, link.attributes)
    message.dropped_attributes_count = link.dropped_attributes_count
    message.flags = link.flags
