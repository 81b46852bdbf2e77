from typing import Any

import pytest

from whyspan.collector.redaction import REDACTED, build_redactor
from whyspan.ingest.errors import ConfigError
from whyspan.ingest.otlp import decode_logs, decode_traces, encode_logs, encode_traces
from whyspan.ingest.otlp.logs import parse_logs
from whyspan.ingest.otlp.traces import parse_traces
from whyspan.ingest.spans import LogRecord, Resource, Scope, Span, SpanEvent, SpanId, TraceId


def cleaned(section: dict[str, Any], **over: Any) -> Span:
    fields: dict[str, Any] = {"name": "s", "start_ns": 1, "end_ns": 2, **over}
    span = Span(trace_id=TraceId("1" * 32), span_id=SpanId("2" * 16), **fields)
    payload = encode_traces([span])
    [only] = decode_traces(build_redactor(section).clean_traces(parse_traces(payload), payload))
    return only


def cleaned_text(section: dict[str, Any], text: str) -> Any:
    return cleaned(section, attributes={"k": text}).attributes["k"]


@pytest.mark.parametrize(
    ("preset", "text", "expected"),
    [
        ("email", "write to ann.b+c@mail.example.org now", "write to [redacted:email] now"),
        ("keys", "key sk-proj-abcdefghijklmnop1234 end", "key [redacted:keys] end"),
        ("keys", "AKIAIOSFODNN7EXAMPLE", "[redacted:keys]"),
        ("keys", "authorization: Bearer abcdef0123456789abcdef", "authorization: Bearer [redacted:keys]"),
        ("cards", "pay 4111 1111 1111 1111 please", "pay [redacted:cards] please"),
        ("cards", "order 4111 1111 1111 1112", "order 4111 1111 1111 1112"),
        ("cards", "at 1790000000000000000", "at 1790000000000000000"),
    ],
)
def test_presets_take_out_what_they_name(preset: str, text: str, expected: str) -> None:
    assert cleaned_text({"presets": [preset]}, text) == expected


def test_own_patterns_reach_every_corner_of_a_span() -> None:
    section = {"patterns": ["hush"]}
    deep = {"a": ("hush", {"b": "hush", "n": 1}), "raw": b"\xff hush"}
    event = SpanEvent(time_ns=1, name="e", attributes={"k": "hush"})
    span = cleaned(
        section,
        name="hush",
        status_message="hush",
        attributes=deep,
        events=(event,),
        resource=Resource(attributes={"host": "hush"}),
    )
    gone = "[redacted:pattern]"
    assert span.attributes == {"a": (gone, {"b": gone, "n": 1}), "raw": b"\xff " + gone.encode()}
    assert (span.name, span.status_message, span.events[0].attributes) == (gone, gone, {"k": gone})
    assert span.resource.attributes == {"host": gone}


def test_attributes_go_by_name_whatever_their_value() -> None:
    span = cleaned({"attributes": ["user.*", "pin"]}, attributes={"user.id": 7, "pin": (1, 2), "username": "kept"})
    assert span.attributes == {"user.id": REDACTED, "pin": REDACTED, "username": "kept"}


def test_known_leaks_are_always_closed() -> None:
    leaks = {"langsmith.metadata.LANGSMITH_API_KEY": "x", "http.request.header.authorization": ("Bearer x",)}
    kept = {"langsmith.metadata.user": "u", "http.request.header.accept": ("*/*",)}
    span = cleaned({}, attributes={**leaks, **kept}, scope=Scope(name="langsmith"))
    assert span.attributes == {**dict.fromkeys(leaks, REDACTED), **kept}


def test_log_bodies_and_attributes_are_cleaned() -> None:
    record = LogRecord(time_ns=1, body={"content": "a@b.example"}, attributes={"k": "a@b.example"})
    payload = encode_logs([record])
    [log] = decode_logs(build_redactor({"presets": ["email"]}).clean_logs(parse_logs(payload), payload))
    assert (log.body, log.attributes) == ({"content": "[redacted:email]"}, {"k": "[redacted:email]"})


def test_without_need_a_request_is_not_touched() -> None:
    payload = encode_traces([])
    assert build_redactor({}).clean_traces(parse_traces(payload), payload) is payload


@pytest.mark.parametrize(
    ("section", "message", "hint"),
    [
        ({"preset": []}, "unknown setting 'preset'", "did you mean 'presets'?"),
        ({"presets": ["emails"]}, "there is no 'emails'", "did you mean 'email'?"),
        ({"patterns": "x"}, "must be a list of texts", None),
        ({"patterns": ["("]}, "is no regular expression", None),
    ],
)
def test_a_wrong_section_is_an_error(section: dict[str, Any], message: str, hint: str | None) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        build_redactor(section)
    assert caught.value.hint == hint
