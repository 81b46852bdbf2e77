"""Message events that carry the id of the span above the model call they belong to.

Some instrumentations emit a call's events outside of its span, so that those of all calls pile up on the parent. They
are dealt out again: a pile is cut after each answer, and the pieces go to the calls under that span in their order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..dialects.message_events import is_choice, is_message
from ..dialects.partial import Role
from ..dialects.semconv import role_of
from ..spans import LogRecord, Span, SpanId, TraceId

Key = tuple[TraceId | None, SpanId | None]


def group_logs(spans: Sequence[Span], logs: Iterable[LogRecord]) -> Mapping[Key, Sequence[LogRecord]]:
    """Returns the log records of each span."""
    groups: dict[Key, list[LogRecord]] = {}
    for record in logs:
        groups.setdefault((record.trace_id, record.span_id), []).append(record)
    if not groups:
        return groups
    silent_calls: dict[tuple[Key, str], list[Span]] = {}
    for span in spans:
        if role_of(span) is Role.CALL and (span.trace_id, span.span_id) not in groups:
            silent_calls.setdefault(((span.trace_id, span.parent_span_id), span.scope.name), []).append(span)
    for (parent, library), calls in silent_calls.items():
        own = [record for record in groups.get(parent, ()) if record.scope.name == library]
        exchanges = _exchanges(own)
        if exchanges and len(exchanges) == len(calls):
            for call, exchange in zip(sorted(calls, key=lambda s: s.start_ns), exchanges, strict=True):
                groups[call.trace_id, call.span_id] = exchange.records
    return groups


@dataclass
class _Exchange:
    records: list[LogRecord] = field(default_factory=list)
    is_answered: bool = False


def _exchanges(pile: Sequence[LogRecord]) -> list[_Exchange]:
    """Returns the pile's events, cut where a message follows an answer."""
    exchanges: list[_Exchange] = []
    for record in pile:
        if not (is_message(record) or is_choice(record)):
            continue
        if not exchanges or (exchanges[-1].is_answered and is_message(record)):
            exchanges.append(_Exchange())
        exchanges[-1].records.append(record)
        exchanges[-1].is_answered = exchanges[-1].is_answered or is_choice(record)
    return exchanges
