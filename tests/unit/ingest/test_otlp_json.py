import json
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from whyspan.ingest.errors import FormatError
from whyspan.ingest.otlp import decode_logs, decode_traces, logs_from_json, traces_from_json
from whyspan.ingest.spans import Span

TRACE_ID, SPAN_ID = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def traces(**span: Any) -> bytes:
    fields = {"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "s", **span}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [fields]}]}]}).encode()


def decoded(**span: Any) -> Span:
    [only] = decode_traces(traces_from_json(traces(**span)))
    return only


def attribute(value: dict[str, Any]) -> Any:
    return decoded(attributes=[{"key": "k", "value": value}]).attributes["k"]


def test_ids_are_hex_in_either_case() -> None:
    span = decoded(traceId=TRACE_ID.upper(), parentSpanId=SPAN_ID.upper())
    assert (span.trace_id, span.parent_span_id) == (TRACE_ID, SPAN_ID)


@pytest.mark.parametrize("value", [1544712660000000000, "1544712660000000000"])
def test_integers_may_be_numbers_or_strings(value: Any) -> None:
    assert decoded(startTimeUnixNano=value).start_ns == 1544712660000000000


@pytest.mark.parametrize("value", [3, "3", "SPAN_KIND_CLIENT"])
def test_enums_may_be_numbers_or_names(value: Any) -> None:
    assert decoded(kind=value).kind == 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": ""}, ""),
        ({"boolValue": False}, False),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"intValue": 0}, 0),
        ({"doubleValue": 1}, 1.0),
        ({"doubleValue": "Infinity"}, float("inf")),
        ({"bytesValue": "_-8="}, b"\xff\xef"),
        ({"arrayValue": {"values": [{"intValue": "1"}, {}]}}, (1, None)),
        ({"arrayValue": {}}, ()),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}}, {"a": "b"}),
        ({}, None),
    ],
)
def test_every_kind_of_value_is_read(value: dict[str, Any], expected: Any) -> None:
    assert repr(attribute(value)) == repr(expected)


def test_unknown_keys_and_nulls_are_ignored() -> None:
    assert decoded(futureField={"x": 1}, status=None, links=None).name == "s"


def test_snake_case_keys_are_read() -> None:
    assert decoded(parent_span_id=SPAN_ID).parent_span_id == SPAN_ID


def test_an_id_that_is_not_hex_spoils_only_its_span() -> None:
    assert decoded(spanId="not hex").span_id == ""


def test_log_records_are_read() -> None:
    record = {"timeUnixNano": "5", "eventName": "e", "body": {"kvlistValue": {"values": []}}, "traceId": TRACE_ID}
    document = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "x"}, "logRecords": [record]}]}]}
    [log] = decode_logs(logs_from_json(json.dumps(document).encode()))
    assert (log.time_ns, log.event_name, log.body, log.trace_id, log.scope.name) == (5, "e", {}, TRACE_ID, "x")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "an object is expected"),
        (b'{"resourceSpans": {}}', "resourceSpans: a list is expected"),
        (traces(name=7), "Span.name: a string is expected"),
        (traces(startTimeUnixNano="soon"), "Span.startTimeUnixNano"),
        (traces(startTimeUnixNano=-1), "Span.startTimeUnixNano"),
        (traces(attributes=[{"key": "k", "value": {"intValue": 1.5}}]), "AnyValue.intValue: a whole number"),
        (traces(attributes=[{"key": "k", "value": {"bytesValue": "?"}}]), "AnyValue.bytesValue: not base64"),
    ],
)
def test_a_wrong_field_is_named(body: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message.replace("[", "\\[")):
        traces_from_json(body)


def test_the_result_is_what_the_official_parser_gives() -> None:
    span = {"startTimeUnixNano": "7", "kind": 2, "droppedLinksCount": 3, "attributes": [{"key": "k", "value": {}}]}
    document = {"resourceSpans": [{"schemaUrl": "u", "scopeSpans": [{"spans": [span], "scope": {"version": "1"}}]}]}
    official = json_format.ParseDict(document, ExportTraceServiceRequest())
    ours = ExportTraceServiceRequest.FromString(traces_from_json(json.dumps(document).encode()))
    assert ours == official
