import pytest

from whyspan.ingest.errors import FormatError
from whyspan.ingest.otlp import decode_logs, decode_traces, encode_logs, encode_traces
from whyspan.ingest.otlp.validation import keep_valid_spans
from whyspan.ingest.spans import LogRecord, Resource, Scope, Span, SpanEvent, SpanId, TraceId

CUT = "Gr\u00fc\u00dfe"
BROKEN = "Grü".encode()[:-1]


def broken(payload: bytes) -> bytes:
    """Replaces the marker by text of the same length that is cut in the middle of a character."""
    marker = CUT.encode()
    assert marker in payload
    return payload.replace(marker, BROKEN + b"x" * (len(marker) - len(BROKEN)))


BROKEN_VALUE = BROKEN + b"x" * (len(CUT.encode()) - len(BROKEN))


def make(name: str = "fine", **attributes: object) -> Span:
    return Span(
        trace_id=TraceId("ff" * 16),  # ids are bytes that are no UTF-8 either, and stay
        span_id=SpanId("fe" * 8),
        name=name,
        start_ns=1,
        end_ns=2,
        attributes={"ok": "é", **attributes},  # type: ignore[dict-item]
        events=(SpanEvent(time_ns=1, name="e", attributes={"text": "ok"}),),
        resource=Resource(attributes={"service.name": "agent"}),
        scope=Scope(name="lib"),
    )


def test_values_are_kept_as_bytes_and_neighbours_are_untouched() -> None:
    payload = broken(encode_traces([make(), make(text=CUT, deep=({"k": CUT},))]))
    fine, hurt = decode_traces(payload)
    assert fine == make()
    assert hurt.attributes == {"ok": "é", "text": BROKEN_VALUE, "deep": ({"k": BROKEN_VALUE},)}


def test_names_get_the_replacement_character() -> None:
    [span] = decode_traces(broken(encode_traces([make(CUT)])))
    assert span.name == BROKEN_VALUE.decode("utf-8", "replace")


def test_log_bodies_are_kept_as_bytes() -> None:
    [log] = decode_logs(broken(encode_logs([LogRecord(time_ns=1, body={"content": CUT})])))
    assert log.body == {"content": BROKEN_VALUE}


def test_what_the_collector_stores_and_forwards_is_valid() -> None:
    valid = keep_valid_spans(broken(encode_traces([make(text=CUT)])))
    assert (valid.accepted, valid.rejected) == (1, 0)
    assert decode_traces(valid.payload)[0].attributes["text"] == BROKEN_VALUE
    assert BROKEN_VALUE in valid.payload
    assert "not UTF-8" in valid.reason


def test_other_damage_is_an_error() -> None:
    with pytest.raises(FormatError, match="not an OTLP ExportTraceServiceRequest"):
        decode_traces(b"\x0a\xff")
