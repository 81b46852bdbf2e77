"""Applies every dialect to a span."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..conventions import SCOPE_NAME
from ..dialects.partial import Dialect, PartialCall, Role
from ..spans import LogRecord, Span, SpanId, TraceId
from .merging import merge
from .misplaced import group_logs

Key: TypeAlias = tuple[TraceId, SpanId]
"""Identity of a span."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A span and everything the dialects found in it."""

    span: Span
    partial: PartialCall
    dialects: tuple[str, ...]
    """Names of the dialects that recognised the span."""

    @property
    def key(self) -> Key:
        """Identity of the span."""
        return self.span.trace_id, self.span.span_id

    @property
    def role(self) -> Role:
        """What the span is in the story of a call."""
        return self.partial.role


def read_spans(spans: Sequence[Span], logs: Sequence[LogRecord], dialects: Mapping[str, Dialect]) -> list[Reading]:
    """Returns the spans that some dialect recognises, in start order; whyspan's own spans are skipped."""
    by_span = group_logs(spans, logs)
    readings = []
    for span in sorted(spans, key=lambda s: (s.start_ns, s.end_ns)):
        if span.scope.name == SCOPE_NAME:
            continue
        reading = read_span(span, by_span.get((span.trace_id, span.span_id), ()), dialects)
        if reading is not None:
            readings.append(reading)
    return readings


def read_span(span: Span, logs: Sequence[LogRecord], dialects: Mapping[str, Dialect]) -> Reading | None:
    """Returns what all dialects together say about a span; None when none of them knows it.

    Where they disagree about the span's role, it is not a call: a convention that knows agents and tools knows better
    than one that only sees model attributes.
    """
    found = [(name, partial) for name, dialect in dialects.items() if (partial := dialect(span, logs)) is not None]
    if not found:
        return None
    roles = {partial.role for _, partial in found}
    if len(roles) > 1 and Role.CALL in roles:
        found.sort(key=lambda item: item[1].role is Role.CALL)
    return Reading(span, merge([partial for _, partial in found]), tuple(name for name, _ in found))
