"""OTLP export requests as JSON documents or protobuf messages."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from ..errors import FormatError
from ..otlp import decode_logs, decode_traces, logs_from_json, traces_from_json
from .decoded import Decoded, Reject, check_ids, combine

_EXCERPT = 200


def is_otlp_json(document: Any) -> bool:
    """Tells whether a JSON document is an export request for traces or logs."""
    return isinstance(document, dict) and bool({"resourceSpans", "resourceLogs"} & set(document))


def decode_document(document: Mapping[str, Any], place: str) -> Decoded:
    """Returns the spans and log records of an OTLP/JSON document; one that is malformed costs only itself."""
    parts = [
        decode(document, place)
        for key, decode in (("resourceSpans", _spans_of), ("resourceLogs", _logs_of))
        if key in document
    ]
    return combine(parts)


def _spans_of(document: Mapping[str, Any], place: str) -> Decoded:
    data = orjson.dumps({"resourceSpans": document["resourceSpans"]})
    try:
        return check_ids(Decoded(spans=tuple(decode_traces(traces_from_json(data)))), place)
    except FormatError as error:
        return _one_by_one(document, place, error, ("resourceSpans", "scopeSpans", "spans"), _spans_of)


def _logs_of(document: Mapping[str, Any], place: str) -> Decoded:
    data = orjson.dumps({"resourceLogs": document["resourceLogs"]})
    try:
        return Decoded(logs=tuple(decode_logs(logs_from_json(data))))
    except FormatError as error:
        return _one_by_one(document, place, error, ("resourceLogs", "scopeLogs", "logRecords"), _logs_of)


def _one_by_one(
    document: Mapping[str, Any],
    place: str,
    error: FormatError,
    path: tuple[str, str, str],
    decode: Callable[[Mapping[str, Any], str], Decoded],
) -> Decoded:
    singles = list(_singles(document, path))
    if len(singles) <= 1:
        excerpt = orjson.dumps(document).decode()[:_EXCERPT]
        return Decoded(rejects=(Reject(place=place, reason=error.message, excerpt=excerpt),))
    return combine(decode(single, f"{place}, element {i}") for i, single in enumerate(singles, 1))


def _singles(document: Mapping[str, Any], path: tuple[str, str, str]) -> Iterator[Mapping[str, Any]]:
    """Yields a document for each span or record, under a copy of its resource and scope."""
    outer, middle, inner = path
    for sender in _objects(document.get(outer)):
        for scope in _objects(sender.get(middle)):
            items = scope.get(inner)
            for item in items if isinstance(items, list) else [items]:
                yield {outer: [{**sender, middle: [{**scope, inner: [item]}]}]}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def decode_message(data: bytes, place: str) -> Decoded:
    """Returns the spans or log records of a protobuf export request, whichever it is.

    The two messages have the same shape on the wire, so a wrong guess shows in ids and times that make no sense.
    """
    failures = []
    for decode in (_decode_spans, _decode_logs):
        try:
            decoded = decode(data, place)
        except FormatError as error:
            failures.append(error.message)
            continue
        if decoded is not None:
            return decoded
    reason = failures[0] if failures else "neither an OTLP trace nor a log export request"
    return Decoded(rejects=(Reject(place=place, reason=reason),))


def _decode_spans(data: bytes, place: str) -> Decoded | None:
    spans = decode_traces(data)
    if spans and not any(len(s.trace_id) == 32 and len(s.span_id) == 16 for s in spans):
        return None
    return check_ids(Decoded(spans=tuple(spans)), place) if spans else None


def _decode_logs(data: bytes, place: str) -> Decoded | None:
    logs = decode_logs(data)
    return Decoded(logs=tuple(logs)) if any(r.time_ns or r.observed_time_ns for r in logs) else None
