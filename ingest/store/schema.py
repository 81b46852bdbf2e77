"""The Parquet tables. Columns are only ever added, with a new SCHEMA_VERSION; what older files lack is read as NULL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .attributes import ATTRIBUTES
from .nesting import APART, NESTED

EVENTS = pa.list_(
    pa.struct([
        ("time_ns", pa.uint64()),
        ("name", pa.string()),
        ("attributes", ATTRIBUTES),
        ("dropped_attributes_count", pa.int64()),
    ])
)  # fmt: skip
LINKS = pa.list_(
    pa.struct([
        ("trace_id", pa.string()),
        ("span_id", pa.string()),
        ("trace_state", pa.string()),
        ("attributes", ATTRIBUTES),
        ("dropped_attributes_count", pa.int64()),
        ("flags", pa.int64()),
    ])
)  # fmt: skip

TOOL_CALLS = pa.list_(pa.struct([("name", pa.string()), ("arguments", pa.string())]))

SPANS = pa.schema([
    # Ids are hex text: DuckDB 1.5 gives wrong answers for equality on BLOB columns of Parquet files.
    ("trace_id", pa.string()),
    ("span_id", pa.string()),
    ("parent_span_id", pa.string()),
    ("name", pa.string()),
    ("kind", pa.int32()),
    ("started", pa.timestamp("us")),
    ("start_ns", pa.uint64()),
    ("end_ns", pa.uint64()),
    ("status_code", pa.int32()),
    ("status_message", pa.string()),
    ("service", pa.string()),
    ("scope_name", pa.string()),
    ("operation", pa.string()),
    ("provider", pa.string()),
    ("request_model", pa.string()),
    ("response_model", pa.string()),
    ("input_tokens", pa.int64()),
    ("output_tokens", pa.int64()),
    ("cost_usd", pa.float64()),
    ("finish_reason", pa.string()),
    ("tool_names", pa.list_(pa.string())),
    ("tool_calls", TOOL_CALLS),
    ("reply_text", pa.string()),
    ("tool_name", pa.string()),
    ("session_id", pa.string()),
    ("user_id", pa.string()),
    ("error", pa.string()),
    ("has_content", pa.bool_()),
    ("attributes", ATTRIBUTES),
    ("events", EVENTS),
    ("links", LINKS),
    ("trace_state", pa.string()),
    ("flags", pa.int64()),
    ("dropped_attributes_count", pa.int64()),
    ("dropped_events_count", pa.int64()),
    ("dropped_links_count", pa.int64()),
    ("resource", pa.string()),
    ("scope", pa.string()),
    ("seq", pa.int64()),
    ("received_ns", pa.uint64()),
])  # fmt: skip

SETTLED = pa.schema([*SPANS, (NESTED, pa.bool_()), (APART, pa.bool_())])
"""Spans as compaction leaves them: with what only a look at the other spans of a file can tell."""

LOG_RECORDS = pa.schema([
    ("trace_id", pa.string()),
    ("span_id", pa.string()),
    ("record_id", pa.string()),
    ("time", pa.timestamp("us")),
    ("time_ns", pa.uint64()),
    ("observed_time_ns", pa.uint64()),
    ("event_name", pa.string()),
    ("severity_number", pa.int32()),
    ("severity_text", pa.string()),
    ("body_kind", pa.string()),
    ("body", pa.string()),
    ("attributes", ATTRIBUTES),
    ("service", pa.string()),
    ("scope_name", pa.string()),
    ("flags", pa.int64()),
    ("dropped_attributes_count", pa.int64()),
    ("resource", pa.string()),
    ("scope", pa.string()),
    ("seq", pa.int64()),
    ("received_ns", pa.uint64()),
])  # fmt: skip

MESSAGES = pa.schema([
    ("trace_id", pa.string()),
    ("hash", pa.string()),
    ("time", pa.timestamp("us")),
    ("body", pa.string()),
    ("seq", pa.int64()),
])  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """What tells the tables apart."""

    schema: pa.Schema
    key: str
    """The column that, within a trace, tells one row from another."""
    order: str
    """The column that rows of one trace are sorted by."""
    time: str
    """The column by which rows grow old."""


TABLES = {
    "spans": TableSpec(schema=SETTLED, key="span_id", order="start_ns", time="started"),
    "log_records": TableSpec(schema=LOG_RECORDS, key="record_id", order="seq", time="time"),
    "messages": TableSpec(schema=MESSAGES, key="hash", order="seq", time="time"),
}

LOW_CARDINALITY = (
    "name", "service", "scope_name", "operation", "provider", "request_model", "response_model", "finish_reason",
    "tool_name", "session_id", "user_id", "error", "status_message", "resource", "scope", "trace_state", "trace_id",
    "event_name", "severity_text", "body_kind", "attributes.list.element.key", "attributes.list.element.kind",
    "events.list.element.name", "events.list.element.attributes.list.element.key",
    "events.list.element.attributes.list.element.kind",
)  # fmt: skip
"""Columns worth a dictionary; the others, large text above all, are better left to zstd alone."""


def build_table(
    schema: pa.Schema, names: Sequence[str], rows: Sequence[Sequence[Any]], nested: Mapping[str, pa.Array]
) -> pa.Table:
    """Returns a table from rows (whose columns are `names`) and the columns that were built elsewhere."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())
    arrays = [
        nested[field.name] if field.name in nested else pa.array(columns[field.name], field.type) for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
