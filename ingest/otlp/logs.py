"""Log export requests ⇄ log records."""

from collections.abc import Iterable

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogRecordMessage

from ..spans import LogRecord, Resource, Scope, SpanId, TraceId
from .grouping import group_by_sender
from .text_repair import parse
from .values import (
    read_attributes,
    read_resource,
    read_scope,
    read_value,
    write_attributes,
    write_resource,
    write_scope,
    write_value,
)


def decode_logs(data: bytes) -> list[LogRecord]:
    """Returns the records of an encoded log export request (or LogsData), in the order sent.

    Raises FormatError when the bytes are not such a message.
    """
    request = parse_logs(data)
    records = []
    for resource_logs in request.resource_logs:
        resource = read_resource(resource_logs.resource, resource_logs.schema_url)
        for scope_logs in resource_logs.scope_logs:
            scope = read_scope(scope_logs.scope, scope_logs.schema_url)
            records += [_read_record(message, resource, scope) for message in scope_logs.log_records]
    return records


def parse_logs(data: bytes) -> ExportLogsServiceRequest:
    """Returns the parsed request; raises FormatError when the bytes are not one.

    Text that is not UTF-8 does no harm: values become bytes, see `text_repair`.
    """
    return parse(data, ExportLogsServiceRequest).message


def encode_logs(records: Iterable[LogRecord]) -> bytes:
    """Returns a log export request that decodes to the same records in the same order."""
    request = ExportLogsServiceRequest()
    for record, new_resource, new_scope in group_by_sender(records):
        if new_resource:
            resource_logs = request.resource_logs.add()
            resource_logs.schema_url = record.resource.schema_url
            write_resource(resource_logs.resource, record.resource)
        if new_scope:
            scope_logs = resource_logs.scope_logs.add()
            scope_logs.schema_url = record.scope.schema_url
            write_scope(scope_logs.scope, record.scope)
        _write_record(scope_logs.log_records.add(), record)
    return request.SerializeToString()


def _read_record(message: LogRecordMessage, resource: Resource, scope: Scope) -> LogRecord:
    return LogRecord(
        trace_id=TraceId(message.trace_id.hex()) if any(message.trace_id) else None,
        span_id=SpanId(message.span_id.hex()) if any(message.span_id) else None,
        time_ns=message.time_unix_nano,
        observed_time_ns=message.observed_time_unix_nano,
        event_name=message.event_name,
        severity_number=message.severity_number,
        severity_text=message.severity_text,
        body=read_value(message.body),
        attributes=read_attributes(message.attributes),
        flags=message.flags,
        dropped_attributes_count=message.dropped_attributes_count,
        resource=resource,
        scope=scope,
    )


def _write_record(message: LogRecordMessage, record: LogRecord) -> None:
    message.trace_id = bytes.fromhex(record.trace_id or "")
    message.span_id = bytes.fromhex(record.span_id or "")
    message.time_unix_nano = record.time_ns
    message.observed_time_unix_nano = record.observed_time_ns
    message.event_name = record.event_name
    message.severity_number = record.severity_number  # type: ignore[assignment]  # open enum
    message.severity_text = record.severity_text
    if record.body is not None:
        write_value(message.body, record.body)
    write_attributes(message.attributes, record.attributes)
    message.flags = record.flags
    message.dropped_attributes_count = record.dropped_attributes_count
