"""Where a text entered a run: the first span that holds it, and the first model call that read it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..ingest import conventions as names
from ..ingest.calls import ModelCall
from ..ingest.spans import AnyValue, LogRecord, Span
from .segments import segment

AROUND = 60
"""Characters of the surroundings that a sighting quotes on each side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A place that holds the text."""

    time_ns: int
    span_id: str
    where: str
    """Span and attribute, such as `execute_tool read_email, gen_ai.tool.call.result`."""
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """How a text came into a run."""

    first: Sighting
    reader: int | None
    """N of the first model call (`#N`) whose request holds it; None when none does."""
    read_as: str
    """What it was to that call: `tool`, `user`, `system`, …"""


def find_entry(
    spans: Sequence[Span], logs: Sequence[LogRecord], calls: Sequence[ModelCall], pattern: re.Pattern[str]
) -> Entry | None:
    """Returns where a text was seen first in a run; None when nothing holds it.

    Tools come before the models that read them: of spans that began before the same moment the innermost is named.
    """
    seen = sorted((*_in_spans(spans, pattern), *_in_logs(logs, pattern)), key=lambda s: s.time_ns)
    if not seen:
        return None
    for number, call in enumerate(calls, 1):
        for piece in segment(call.api, call.request).segments:
            if pattern.search(piece.text):
                return Entry(first=seen[0], reader=number, read_as=piece.role.value)
    return Entry(first=seen[0], reader=None, read_as="")


def _in_spans(spans: Sequence[Span], pattern: re.Pattern[str]) -> Iterator[Sighting]:
    """Yields one sighting a span. An attribute that is written when the span ends is known from then on only."""
    for span in spans:
        if span.scope.name == names.SCOPE_NAME:
            continue
        places = [
            (key, value, span.start_ns if _is_input(key) else span.end_ns) for key, value in span.attributes.items()
        ]
        places += [(f"{e.name} {k}", v, e.time_ns) for e in span.events for k, v in e.attributes.items()]
        for key, value, time_ns in sorted(places, key=lambda p: p[2]):
            quote = _quote(value, pattern)
            if quote is not None:
                yield Sighting(time_ns=time_ns, span_id=span.span_id, where=f"{span.name}, {key}", quote=quote)
                break


def _in_logs(logs: Sequence[LogRecord], pattern: re.Pattern[str]) -> Iterator[Sighting]:
    for record in logs:
        quote = _quote([record.body, dict(record.attributes)], pattern)
        if quote is not None:
            name = record.event_name or "log record"
            yield Sighting(time_ns=record.time_ns, span_id=record.span_id or "", where=name, quote=quote)


def _is_input(key: str) -> bool:
    return any(word in key for word in ("input", "prompt", "request", "arguments"))


def _quote(value: AnyValue, pattern: re.Pattern[str]) -> str | None:
    for text in texts_of(value):
        found = pattern.search(text)
        if found:
            return " ".join(text[max(0, found.start() - AROUND) : found.end() + AROUND].split())
    return None


def texts_of(value: AnyValue) -> Iterator[str]:
    """Yields every string inside a value; of a string that is JSON, those inside it instead."""
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value[:1] in ("{", "[") else None
        except ValueError:
            inner = None
        if inner is None:
            yield value
        else:
            yield from texts_of(inner)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_of(item)
