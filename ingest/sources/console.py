"""The output of the Python SDK's console exporters: one indented JSON object a span or log record.

Source: `to_json` in opentelemetry/sdk/trace/__init__.py and opentelemetry/sdk/_logs. It leaves out the scope, and times
are cut to microseconds.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..errors import FormatError
from ..spans import Link, LogRecord, Resource, Span, SpanEvent, SpanId, SpanKind, StatusCode, TraceId

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def is_span(document: Any) -> bool:
    """Tells whether an object is a span of the console exporter."""
    return isinstance(document, Mapping) and isinstance(document.get("context"), Mapping) and "start_time" in document


def is_log(document: Any) -> bool:
    """Tells whether an object is a log record of the console exporter."""
    return isinstance(document, Mapping) and {"body", "severity_number", "trace_id"} <= set(document)


def decode_span(document: Mapping[str, Any]) -> Span:
    """Returns the span; raises FormatError when an id or a time is not one."""
    context = _mapping(document["context"])
    parent = document.get("parent_id")
    status = _mapping(document.get("status"))
    return Span(
        trace_id=TraceId(_hex(context.get("trace_id"), "trace_id")),
        span_id=SpanId(_hex(context.get("span_id"), "span_id")),
        parent_span_id=SpanId(_hex(parent, "parent_id")) if parent else None,
        name=str(document.get("name", "")),
        kind=_number(SpanKind, str(document.get("kind", "")).rpartition(".")[2]),
        start_ns=_time(document.get("start_time"), "start_time"),
        end_ns=_time(document.get("end_time"), "end_time"),
        attributes=_mapping(document.get("attributes")),
        events=tuple(_event(e) for e in document.get("events") or () if isinstance(e, Mapping)),
        links=tuple(_link(e) for e in document.get("links") or () if isinstance(e, Mapping)),
        status_code=_number(StatusCode, str(status.get("status_code", ""))),
        status_message=str(status.get("description") or ""),
        resource=_resource(document),
    )


def decode_log(document: Mapping[str, Any]) -> LogRecord:
    """Returns the log record; raises FormatError when an id or a time is not one."""
    return LogRecord(
        trace_id=TraceId(_hex(document["trace_id"], "trace_id")) if document["trace_id"] else None,
        span_id=SpanId(_hex(document["span_id"], "span_id")) if document.get("span_id") else None,
        time_ns=_time(document.get("timestamp"), "timestamp") if document.get("timestamp") else 0,
        observed_time_ns=_time(document.get("observed_timestamp"), "observed_timestamp"),
        event_name=str(document.get("event_name") or ""),
        severity_number=int(document.get("severity_number") or 0),
        severity_text=str(document.get("severity_text") or ""),
        body=document.get("body"),
        attributes=_mapping(document.get("attributes")),
        resource=_resource(document),
    )


def _event(document: Mapping[str, Any]) -> SpanEvent:
    return SpanEvent(
        time_ns=_time(document.get("timestamp"), "events.timestamp"),
        name=str(document.get("name", "")),
        attributes=_mapping(document.get("attributes")),
    )


def _link(document: Mapping[str, Any]) -> Link:
    context = _mapping(document.get("context"))
    return Link(
        trace_id=TraceId(_hex(context.get("trace_id"), "links.trace_id")),
        span_id=SpanId(_hex(context.get("span_id"), "links.span_id")),
        attributes=_mapping(document.get("attributes")),
    )


def _resource(document: Mapping[str, Any]) -> Resource:
    resource = _mapping(document.get("resource"))
    return Resource(attributes=_mapping(resource.get("attributes")), schema_url=str(resource.get("schema_url") or ""))


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _hex(value: Any, field: str) -> str:
    text = value.removeprefix("0x").lower() if isinstance(value, str) else ""
    if not text or set(text) - set("0123456789abcdef"):
        raise FormatError(f"{field} is not a hexadecimal id: {value!r}")
    return text


def _time(value: Any, field: str) -> int:
    try:
        delta = datetime.fromisoformat(value) - _EPOCH
    except (TypeError, ValueError) as error:
        raise FormatError(f"{field} is not a time: {value!r}") from error
    return ((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds) * 1_000


def _number(enum: type[SpanKind] | type[StatusCode], name: str) -> int:
    return int(enum[name]) if name in enum.__members__ else 0
