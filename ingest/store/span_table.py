"""Trace export requests → rows of `spans`: straight from the protobuf messages, Span objects in between cost half."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from ..otlp.traces import parse_traces
from ..otlp.values import read_value
from ..spans import AnyValue
from .attributes import AttributesBuilder
from .bodies import Bodies
from .nested import EventsBuilder, LinksBuilder
from .promotion import Promoted, is_relevant, promote
from .schema import SPANS, build_table
from .sender import Sender
from .wal import Frame


class SpanRow(NamedTuple):
    """The columns of `spans` that are not nested."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: int
    started: int
    start_ns: int
    end_ns: int
    status_code: int
    status_message: str
    service: str | None
    scope_name: str
    operation: str | None
    provider: str | None
    request_model: str | None
    response_model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    finish_reason: str | None
    tool_names: Sequence[str]
    tool_calls: Sequence[Mapping[str, str | None]]
    reply_text: str | None
    tool_name: str | None
    session_id: str | None
    user_id: str | None
    error: str | None
    has_content: bool
    trace_state: str
    flags: int
    dropped_attributes_count: int
    dropped_events_count: int
    dropped_links_count: int
    resource: str
    scope: str
    seq: int
    received_ns: int


class SpanTable:
    """Builds the rows of `spans`."""

    def __init__(self, first_seq: int, bodies: Bodies) -> None:
        self._rows: list[SpanRow] = []
        self._attributes = AttributesBuilder(bodies)
        self._events = EventsBuilder(bodies)
        self._links = LinksBuilder(bodies)
        self._first_seq = first_seq

    def add(self, frame: Frame) -> None:
        """Appends the spans of one request; raises FormatError, having added nothing, when it cannot be read."""
        for group in parse_traces(frame.payload).resource_spans:
            for scope_group in group.scope_spans:
                sender = Sender.of(group, scope_group)
                for span in scope_group.spans:
                    self._add_span(span, sender, frame.received_ns)

    def build(self) -> pa.Table:
        """Returns the table."""
        nested = {
            "attributes": self._attributes.build(),
            "events": self._events.build(),
            "links": self._links.build(),
        }
        return build_table(SPANS, SpanRow._fields, self._rows, nested)

    def _add_span(self, span: SpanMessage, sender: Sender, received_ns: int) -> None:
        trace_id, started = span.trace_id.hex(), span.start_time_unix_nano // 1000
        self._attributes.add_row(span.attributes, trace_id, started)
        self._events.add_row(span.events, trace_id, started)
        self._links.add_row(span.links, trace_id, started)
        seq = self._first_seq + len(self._rows)
        self._rows.append(_row(span, sender, promote(_find(span, sender.found)), seq, received_ns))


def _find(span: SpanMessage, found: Mapping[str, AnyValue]) -> Mapping[str, AnyValue]:
    """Returns what promotion wants to see of a span; its events count, where some conventions put the messages."""
    relevant = {pair.key: read_value(pair.value) for pair in span.attributes if is_relevant(pair.key)}
    for event in span.events:
        prefix = "gen_ai.choice." if event.name == "gen_ai.choice" else ""
        for pair in event.attributes:
            if is_relevant(prefix + pair.key):
                relevant.setdefault(prefix + pair.key, read_value(pair.value))
    return {**found, **relevant} if found else relevant


def _row(span: SpanMessage, sender: Sender, promoted: Promoted, seq: int, received_ns: int) -> SpanRow:
    failed = span.status.code == Status.STATUS_CODE_ERROR
    error = promoted.error_type or span.status.message or "error"
    return SpanRow(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_span_id=span.parent_span_id.hex() if any(span.parent_span_id) else None,
        name=span.name,
        kind=span.kind,
        started=span.start_time_unix_nano // 1000,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status_code=span.status.code,
        status_message=span.status.message,
        service=sender.service,
        scope_name=sender.scope_name,
        operation=promoted.operation,
        provider=promoted.provider,
        request_model=promoted.request_model,
        response_model=promoted.response_model,
        input_tokens=promoted.input_tokens,
        output_tokens=promoted.output_tokens,
        cost_usd=promoted.cost_usd,
        finish_reason=promoted.finish_reason,
        tool_names=list(dict.fromkeys(call.name for call in promoted.tool_calls)),
        tool_calls=[call._asdict() for call in promoted.tool_calls],
        reply_text=promoted.reply_text,
        tool_name=promoted.tool_name,
        session_id=promoted.session_id,
        user_id=promoted.user_id,
        error=error if failed else promoted.error_type,
        has_content=promoted.has_content,
        trace_state=span.trace_state,
        flags=span.flags,
        dropped_attributes_count=span.dropped_attributes_count,
        dropped_events_count=span.dropped_events_count,
        dropped_links_count=span.dropped_links_count,
        resource=sender.resource,
        scope=sender.scope,
        seq=seq,
        received_ns=received_ns,
    )
