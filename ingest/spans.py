"""The internal form of OpenTelemetry data: what every reader produces and every later stage takes.

Nothing here knows a wire format or a convention; `otlp` converts to and from bytes, `dialects` give the attributes
a meaning. Values are kept as they were sent, so that decoding and encoding again loses nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NewType, TypeAlias

TraceId = NewType("TraceId", str)
"""32 lowercase hex digits."""
SpanId = NewType("SpanId", str)
"""16 lowercase hex digits."""

AnyValue: TypeAlias = "str | bool | int | float | bytes | Sequence[AnyValue] | Mapping[str, AnyValue] | None"
"""An OTLP AnyValue; None stands for a value that was sent empty."""
Attributes: TypeAlias = Mapping[str, AnyValue]


class SpanKind(IntEnum):
    """OTLP's numbers."""

    UNSPECIFIED = 0
    INTERNAL = 1
    SERVER = 2
    CLIENT = 3
    PRODUCER = 4
    CONSUMER = 5


class StatusCode(IntEnum):
    """OTLP's numbers."""

    UNSET = 0
    OK = 1
    ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The process that sent a span."""

    attributes: Attributes = field(default_factory=dict)
    dropped_attributes_count: int = 0
    schema_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The instrumentation library that made a span."""

    name: str = ""
    version: str = ""
    attributes: Attributes = field(default_factory=dict)
    dropped_attributes_count: int = 0
    schema_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """A timestamped event inside a span."""

    time_ns: int
    name: str
    attributes: Attributes = field(default_factory=dict)
    dropped_attributes_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A reference from a span to another one."""

    trace_id: TraceId
    span_id: SpanId
    trace_state: str = ""
    attributes: Attributes = field(default_factory=dict)
    dropped_attributes_count: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A finished span, as it was sent."""

    trace_id: TraceId
    span_id: SpanId
    parent_span_id: SpanId | None = None
    name: str
    kind: int = SpanKind.INTERNAL
    start_ns: int
    """Unix time in nanoseconds."""
    end_ns: int
    """Unix time in nanoseconds; may be before `start_ns` when clocks disagree."""
    attributes: Attributes = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    links: tuple[Link, ...] = ()
    status_code: int = StatusCode.UNSET
    status_message: str = ""
    trace_state: str = ""
    flags: int = 0
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0
    dropped_links_count: int = 0
    resource: Resource = field(default_factory=Resource)
    scope: Scope = field(default_factory=Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """A log record; GenAI instrumentations put message content into records that belong to a span."""

    trace_id: TraceId | None = None
    span_id: SpanId | None = None
    time_ns: int
    observed_time_ns: int = 0
    event_name: str = ""
    severity_number: int = 0
    severity_text: str = ""
    body: AnyValue = None
    attributes: Attributes = field(default_factory=dict)
    flags: int = 0
    dropped_attributes_count: int = 0
    resource: Resource = field(default_factory=Resource)
    scope: Scope = field(default_factory=Scope)
