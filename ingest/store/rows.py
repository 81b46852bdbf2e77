"""Rows of the Parquet tables → spans and log records."""

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from ..spans import Attributes, Link, LogRecord, Resource, Scope, Span, SpanEvent
from .attributes import from_json_text, restore_attributes, restore_value

Bodies: TypeAlias = Mapping[str, str]
"""The messages of a trace, by hash."""


class Senders:
    """Resources and scopes by their text, so that rows of one sender share one object."""

    def __init__(self) -> None:
        self._resources: dict[str, Resource] = {}
        self._scopes: dict[str, Scope] = {}

    def resource(self, text: str) -> Resource:
        """Returns the resource of a row."""
        if text not in self._resources:
            self._resources[text] = Resource(**_entity(text))
        return self._resources[text]

    def scope(self, text: str) -> Scope:
        """Returns the scope of a row."""
        if text not in self._scopes:
            self._scopes[text] = Scope(**_entity(text))
        return self._scopes[text]


def _entity(text: str) -> dict[str, Any]:
    """Returns the keyword arguments of a Resource or Scope: the stored keys are their field names."""
    return dict(cast(Attributes, from_json_text(text)))


def read_span(row: Mapping[str, Any], senders: Senders, bodies: Bodies) -> Span:
    """Returns the span of a row of `spans`."""
    return Span(
        trace_id=row["trace_id"],
        span_id=row["span_id"],
        parent_span_id=row["parent_span_id"],
        name=row["name"],
        kind=row["kind"],
        start_ns=row["start_ns"],
        end_ns=row["end_ns"],
        attributes=restore_attributes(row["attributes"], bodies),
        events=tuple(_read_event(event, bodies) for event in row["events"]),
        links=tuple(_read_link(link, bodies) for link in row["links"]),
        status_code=row["status_code"],
        status_message=row["status_message"],
        trace_state=row["trace_state"],
        flags=row["flags"],
        dropped_attributes_count=row["dropped_attributes_count"],
        dropped_events_count=row["dropped_events_count"],
        dropped_links_count=row["dropped_links_count"],
        resource=senders.resource(row["resource"]),
        scope=senders.scope(row["scope"]),
    )


def read_log_record(row: Mapping[str, Any], senders: Senders, bodies: Bodies) -> LogRecord:
    """Returns the log record of a row of `log_records`."""
    return LogRecord(
        trace_id=row["trace_id"],
        span_id=row["span_id"],
        time_ns=row["time_ns"],
        observed_time_ns=row["observed_time_ns"],
        event_name=row["event_name"],
        severity_number=row["severity_number"],
        severity_text=row["severity_text"],
        body=restore_value(row["body_kind"], row["body"], bodies),
        attributes=restore_attributes(row["attributes"], bodies),
        flags=row["flags"],
        dropped_attributes_count=row["dropped_attributes_count"],
        resource=senders.resource(row["resource"]),
        scope=senders.scope(row["scope"]),
    )


def _read_event(row: Mapping[str, Any], bodies: Bodies) -> SpanEvent:
    return SpanEvent(**{**row, "attributes": restore_attributes(row["attributes"], bodies)})


def _read_link(row: Mapping[str, Any], bodies: Bodies) -> Link:
    return Link(**{**row, "attributes": restore_attributes(row["attributes"], bodies)})
