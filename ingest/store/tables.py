"""Export requests → Arrow tables: straight from the protobuf messages, because Span objects in between cost half."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogRecordMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from ..otlp.logs import parse_logs
from ..otlp.traces import parse_traces
from ..otlp.values import read_attributes, read_value
from ..spans import AnyValue
from .attributes import AttributesBuilder, flatten_value, list_column, to_json_text
from .promotion import Promoted, is_relevant, promote
from .schema import EVENTS, LINKS, LOG_RECORDS, SPANS
from .wal import Frame


class Columns:
    """Scalar columns under construction."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._values: dict[str, list[Any]] = {name: [] for name in schema.names}

    def add(self, values: Mapping[str, Any]) -> None:
        """Appends a row; columns not named are built elsewhere."""
        for name, value in values.items():
            self._values[name].append(value)

    def build(self, nested: Mapping[str, pa.Array]) -> pa.Table:
        """Returns the table, with the columns that were built elsewhere."""
        arrays = [
            nested[field.name] if field.name in nested else pa.array(self._values[field.name], field.type)
            for field in self._schema
        ]
        return pa.Table.from_arrays(arrays, schema=self._schema)


class EventsBuilder:
    """The events column."""

    def __init__(self) -> None:
        self._offsets = [0]
        self._times: list[int] = []
        self._names: list[str] = []
        self._dropped: list[int] = []
        self._attributes = AttributesBuilder()

    def add_row(self, events: Sequence[SpanMessage.Event]) -> None:
        """Appends the events of one span."""
        for event in events:
            self._times.append(event.time_unix_nano)
            self._names.append(event.name)
            self._dropped.append(event.dropped_attributes_count)
            self._attributes.add_all(event.attributes)
        self._offsets.append(len(self._times))

    def build(self) -> pa.Array:
        """Returns the column."""
        columns = {
            "time_ns": pa.array(self._times, pa.uint64()),
            "name": pa.array(self._names, pa.string()),
            "attributes": self._attributes.build(),
            "dropped_attributes_count": pa.array(self._dropped, pa.int64()),
        }
        return list_column(self._offsets, columns).cast(EVENTS)


class LinksBuilder:
    """The links column."""

    def __init__(self) -> None:
        self._offsets = [0]
        self._rows: list[tuple[str, str, str, int, int]] = []
        self._attributes = AttributesBuilder()

    def add_row(self, links: Sequence[SpanMessage.Link]) -> None:
        """Appends the links of one span."""
        for link in links:
            ids = link.trace_id.hex(), link.span_id.hex(), link.trace_state
            self._rows.append((*ids, link.dropped_attributes_count, link.flags))
            self._attributes.add_all(link.attributes)
        self._offsets.append(len(self._rows))

    def build(self) -> pa.Array:
        """Returns the column."""
        text, number = pa.string(), pa.int64()
        columns = {
            "trace_id": pa.array([row[0] for row in self._rows], text),
            "span_id": pa.array([row[1] for row in self._rows], text),
            "trace_state": pa.array([row[2] for row in self._rows], text),
            "attributes": self._attributes.build(),
            "dropped_attributes_count": pa.array([row[3] for row in self._rows], number),
            "flags": pa.array([row[4] for row in self._rows], number),
        }
        return list_column(self._offsets, columns).cast(LINKS)


class Sender:
    """What all rows under one resource and scope have in common."""

    def __init__(self, group: Any, scope_group: Any) -> None:
        self.resource = _entity_text(group.resource, group.schema_url, {})
        scope = scope_group.scope
        self.scope = _entity_text(scope, scope_group.schema_url, {"name": scope.name, "version": scope.version})
        self.scope_name = scope.name
        self.service = next((_service(a.value) for a in group.resource.attributes if a.key == "service.name"), None)
        self.session: Mapping[str, AnyValue] = {
            a.key: read_value(a.value) for a in group.resource.attributes if a.key == "session.id"
        }


def _service(value: Any) -> str | None:
    return value.string_value or None


def _entity_text(message: Any, schema_url: str, more: Mapping[str, AnyValue]) -> str:
    """Returns a resource or scope as lossless JSON text; few differ, so a dictionary keeps it small."""
    document: dict[str, AnyValue] = {**more, "attributes": read_attributes(message.attributes)}
    if message.dropped_attributes_count:
        document["dropped_attributes_count"] = message.dropped_attributes_count
    if schema_url:
        document["schema_url"] = schema_url
    return to_json_text(document)


class SpanTable:
    """Builds the rows of `spans`."""

    def __init__(self, first_seq: int) -> None:
        self._columns = Columns(SPANS)
        self._attributes = AttributesBuilder()
        self._events = EventsBuilder()
        self._links = LinksBuilder()
        self._seq = first_seq

    def add(self, frame: Frame) -> None:
        """Appends the spans of one request; raises FormatError, having added nothing, when it cannot be read."""
        for group in parse_traces(frame.payload).resource_spans:
            for scope_group in group.scope_spans:
                sender = Sender(group, scope_group)
                for span in scope_group.spans:
                    self._add_span(span, sender, frame.received_ns)

    def build(self) -> pa.Table:
        """Returns the table."""
        nested = {
            "attributes": self._attributes.build(),
            "events": self._events.build(),
            "links": self._links.build(),
        }
        return self._columns.build(nested)

    def _add_span(self, span: SpanMessage, sender: Sender, received_ns: int) -> None:
        found: dict[str, AnyValue] = dict(sender.session)
        for pair in span.attributes:
            kind, text = flatten_value(pair.value)
            self._attributes.add(pair.key, kind, text)
            if is_relevant(pair.key):
                found[pair.key] = read_value(pair.value)
        self._attributes.end_row()
        self._events.add_row(span.events)
        self._links.add_row(span.links)
        _add_events(found, span.events)
        self._columns.add(_span_columns(span, sender, promote(found)))
        self._columns.add({"seq": self._seq, "received_ns": received_ns})
        self._seq += 1


def _add_events(found: dict[str, AnyValue], events: Sequence[SpanMessage.Event]) -> None:
    """Adds what events say: some conventions put the messages there."""
    for event in events:
        for pair in event.attributes:
            key = f"gen_ai.choice.{pair.key}" if event.name == "gen_ai.choice" else pair.key
            if is_relevant(key) and key not in found:
                found[key] = read_value(pair.value)


def _span_columns(span: SpanMessage, sender: Sender, promoted: Promoted) -> dict[str, Any]:
    failed = span.status.code == Status.STATUS_CODE_ERROR
    error = promoted.error_type or span.status.message or "error"
    return {
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_span_id": span.parent_span_id.hex() if any(span.parent_span_id) else None,
        "name": span.name,
        "kind": span.kind,
        "started": _microseconds(span.start_time_unix_nano),
        "start_ns": span.start_time_unix_nano,
        "end_ns": span.end_time_unix_nano,
        "status_code": span.status.code,
        "status_message": span.status.message,
        "service": sender.service,
        "scope_name": sender.scope_name,
        "operation": promoted.operation,
        "provider": promoted.provider,
        "request_model": promoted.request_model,
        "response_model": promoted.response_model,
        "input_tokens": promoted.input_tokens,
        "output_tokens": promoted.output_tokens,
        "cost_usd": promoted.cost_usd,
        "finish_reason": promoted.finish_reason,
        "tool_names": list(promoted.tool_names),
        "tool_name": promoted.tool_name,
        "session_id": promoted.session_id,
        "user_id": promoted.user_id,
        "error": error if failed else promoted.error_type,
        "has_content": promoted.has_content,
        "trace_state": span.trace_state,
        "flags": span.flags,
        "dropped_attributes_count": span.dropped_attributes_count,
        "dropped_events_count": span.dropped_events_count,
        "dropped_links_count": span.dropped_links_count,
        "resource": sender.resource,
        "scope": sender.scope,
    }


class LogTable:
    """Builds the rows of `log_records`."""

    def __init__(self, first_seq: int) -> None:
        self._columns = Columns(LOG_RECORDS)
        self._attributes = AttributesBuilder()
        self._seq = first_seq

    def add(self, frame: Frame) -> None:
        """Appends the records of one request; raises FormatError, having added nothing, when it cannot be read."""
        seen: Counter[bytes] = Counter()
        for group in parse_logs(frame.payload).resource_logs:
            for scope_group in group.scope_logs:
                sender = Sender(group, scope_group)
                for record in scope_group.log_records:
                    self._attributes.add_all(record.attributes)
                    self._columns.add(_log_columns(record, sender, _record_id(record, sender, seen)))
                    self._columns.add({"seq": self._seq, "received_ns": frame.received_ns})
                    self._seq += 1

    def build(self) -> pa.Table:
        """Returns the table."""
        return self._columns.build({"attributes": self._attributes.build()})


def _record_id(record: LogRecordMessage, sender: Sender, seen: Counter[bytes]) -> str:
    """Returns an id by content, since OTLP gives log records none: a request sent again must not count twice.

    Records that are equal within one request are different events: their ordinal goes into the id.
    """
    content = record.SerializeToString(deterministic=True) + sender.resource.encode() + sender.scope.encode()
    ordinal = seen[content]
    seen[content] += 1
    return hashlib.blake2b(content + ordinal.to_bytes(4), digest_size=16).hexdigest()


def _log_columns(record: LogRecordMessage, sender: Sender, record_id: str) -> dict[str, Any]:
    body_kind, body = flatten_value(record.body)
    return {
        "trace_id": record.trace_id.hex() if any(record.trace_id) else None,
        "span_id": record.span_id.hex() if any(record.span_id) else None,
        "record_id": record_id,
        "time": _microseconds(record.time_unix_nano or record.observed_time_unix_nano),
        "time_ns": record.time_unix_nano,
        "observed_time_ns": record.observed_time_unix_nano,
        "event_name": record.event_name,
        "severity_number": record.severity_number,
        "severity_text": record.severity_text,
        "body_kind": body_kind,
        "body": body,
        "service": sender.service,
        "scope_name": sender.scope_name,
        "flags": record.flags,
        "dropped_attributes_count": record.dropped_attributes_count,
        "resource": sender.resource,
        "scope": sender.scope,
    }


def _microseconds(time_ns: int) -> int:
    """Returns Unix microseconds; uint64 nanoseconds always fit."""
    return time_ns // 1000
