"""Files exported by Phoenix: data frames of spans, as JSON (records, lines or columns) or Parquet.

Column `context.trace_id`, `context.span_id`, `parent_id`, `name`, `span_kind`, `start_time`, `end_time`, `status_code`,
`status_message`, and one column an attribute, `attributes.llm.input_messages` say, with lists and objects inside.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..spans import AnyValue, Span, SpanId, StatusCode, TraceId
from .exports import ExportSource, Row
from .times import parse_time

_PREFIX = "attributes."
_STATUS = {"OK": StatusCode.OK, "ERROR": StatusCode.ERROR}


def export_source(paths: Sequence[str]) -> ExportSource:
    """Returns the source that reads exported files."""
    return ExportSource("phoenix", paths, read_spans, decode_row)


def read_spans(rows: Iterable[Row]) -> Iterator[Row]:
    """Yields the spans of a file's rows: of a data frame by columns, those in it."""
    for row in rows:
        columns = {key: value for key, value in row.items() if isinstance(value, Mapping)}
        if "name" in columns and "start_time" in columns:
            yield from ({key: column.get(index) for key, column in columns.items()} for index in columns["name"])
        else:
            yield row


def decode_row(row: Row) -> Span:
    """Returns the span of a row; raises KeyError or FormatError when it has no ids or times."""
    parent = row.get("parent_id")
    kind = row.get("span_kind")
    attributes = {"openinference.span.kind": kind} if kind else {}
    for key, value in row.items():
        if key.startswith(_PREFIX):
            attributes |= dict(_flattened(key.removeprefix(_PREFIX), value))
    return Span(
        trace_id=TraceId(row["context.trace_id"]),
        span_id=SpanId(row["context.span_id"]),
        parent_span_id=SpanId(parent) if parent else None,
        name=str(row["name"]),
        start_ns=_time(row["start_time"]),
        end_ns=_time(row["end_time"]),
        attributes=attributes,
        status_code=_STATUS.get(str(row.get("status_code")), StatusCode.UNSET),
        status_message=row.get("status_message") or "",
    )


def _flattened(key: str, value: Any) -> Iterator[tuple[str, AnyValue]]:
    """Yields the attributes that an instrumentation has sent: lists of objects and objects by their paths."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flattened(f"{key}.{name}", item)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for i, item in enumerate(value):
            yield from _flattened(f"{key}.{i}", item)
    elif value is not None and value == value:  # a data frame has NaN where a span has nothing
        yield key, tuple(value) if isinstance(value, list) else value


def _time(value: Any) -> int:
    if isinstance(value, datetime):
        return parse_time(value.isoformat())
    if isinstance(value, int):
        return value * 10**6  # pandas writes milliseconds
    return parse_time(value)
