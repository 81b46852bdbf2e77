"""Log export requests → rows of `log_records`."""

import hashlib
from collections import Counter
from typing import NamedTuple

import pyarrow as pa
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogRecordMessage

from ..otlp.logs import parse_logs
from .attributes import AttributesBuilder, flatten_value, fold_value
from .bodies import Bodies
from .schema import LOG_RECORDS, build_table
from .sender import Sender
from .wal import Frame


class LogRow(NamedTuple):
    """The columns of `log_records` that are not nested."""

    trace_id: str | None
    span_id: str | None
    record_id: str
    time: int
    time_ns: int
    observed_time_ns: int
    event_name: str
    severity_number: int
    severity_text: str
    body_kind: str
    body: str | None
    service: str | None
    scope_name: str
    flags: int
    dropped_attributes_count: int
    resource: str
    scope: str
    seq: int
    received_ns: int


class LogTable:
    """Builds the rows of `log_records`."""

    def __init__(self, first_seq: int, bodies: Bodies) -> None:
        self._bodies = bodies
        self._rows: list[LogRow] = []
        self._attributes = AttributesBuilder(bodies)
        self._first_seq = first_seq

    def add(self, frame: Frame) -> None:
        """Appends the records of one request; raises FormatError, having added nothing, when it cannot be read."""
        seen: Counter[bytes] = Counter()
        for group in parse_logs(frame.payload).resource_logs:
            for scope_group in group.scope_logs:
                sender = Sender.of(group, scope_group)
                for record in scope_group.log_records:
                    self._add_record(record, sender, _record_id(record, sender, seen), frame.received_ns)

    def build(self) -> pa.Table:
        """Returns the table."""
        return build_table(LOG_RECORDS, LogRow._fields, self._rows, {"attributes": self._attributes.build()})

    def _add_record(self, record: LogRecordMessage, sender: Sender, record_id: str, received_ns: int) -> None:
        trace_id = record.trace_id.hex() if any(record.trace_id) else ""
        time_us = (record.time_unix_nano or record.observed_time_unix_nano) // 1000
        self._attributes.add_row(record.attributes, trace_id, time_us)
        body = fold_value(self._bodies, trace_id, time_us, record.event_name, *flatten_value(record.body))
        row = LogRow(
            trace_id=trace_id or None,
            span_id=record.span_id.hex() if any(record.span_id) else None,
            record_id=record_id,
            time=time_us,
            time_ns=record.time_unix_nano,
            observed_time_ns=record.observed_time_unix_nano,
            event_name=record.event_name,
            severity_number=record.severity_number,
            severity_text=record.severity_text,
            body_kind=body[0],
            body=body[1],
            service=sender.service,
            scope_name=sender.scope_name,
            flags=record.flags,
            dropped_attributes_count=record.dropped_attributes_count,
            resource=sender.resource,
            scope=sender.scope,
            seq=self._first_seq + len(self._rows),
            received_ns=received_ns,
        )
        self._rows.append(row)


def _record_id(record: LogRecordMessage, sender: Sender, seen: Counter[bytes]) -> str:
    """Returns an id by content, since OTLP gives log records none: a request sent again must not count twice.

    Records that are equal within one request are different events: their ordinal goes into the id.
    """
    content = record.SerializeToString(deterministic=True) + sender.resource.encode() + sender.scope.encode()
    ordinal = seen[content]
    seen[content] += 1
    return hashlib.blake2b(content + ordinal.to_bytes(4, "big"), digest_size=16).hexdigest()
