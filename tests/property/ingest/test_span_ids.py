"""The quick look at span ids says of a request what looking at every span does."""

from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from whyspan.ingest.otlp.span_ids import are_ids_valid

GOOD = (b"\x01" * 16, b"\x00" * 7 + b"\x01")
trace_ids = st.one_of(st.just(bytes(16)), st.binary(min_size=16, max_size=16), st.binary(max_size=44))
span_ids = st.one_of(st.just(bytes(8)), st.binary(min_size=8, max_size=8), st.binary(max_size=36))
ids = st.one_of(st.just(GOOD), st.tuples(trace_ids, span_ids))


def encode(groups: list[list[tuple[bytes, bytes]]]) -> bytes:
    request = ExportTraceServiceRequest()
    for group in groups:
        scope_spans = request.resource_spans.add().scope_spans.add()
        scope_spans.scope.name = "s"
        for trace_id, span_id in group:
            scope_spans.spans.add(trace_id=trace_id, span_id=span_id, name="n", end_time_unix_nano=1)
    return request.SerializeToString()


def is_valid(trace_id: bytes, span_id: bytes) -> bool:
    return len(trace_id) == 16 and len(span_id) == 8 and any(trace_id) and any(span_id)


@given(st.lists(st.lists(ids, max_size=3), max_size=3))
@example([[(b"\x01" * 17, b"\x01" * 7)]])
@example([[GOOD, (b"\x01" * 46, b"\x01" * 8)], [(b"", b"")]])
def test_requests_are_valid_when_all_their_spans_are(groups: list[list[tuple[bytes, bytes]]]) -> None:
    assert are_ids_valid(encode(groups)) is all(is_valid(*pair) for group in groups for pair in group)


def test_of_an_id_sent_twice_the_last_counts() -> None:
    twice = bytes.fromhex("0a24 1222 1220 0a02ffff 0a10") + b"\x01" * 16 + bytes.fromhex("1208") + b"\x01" * 8
    assert len(ExportTraceServiceRequest.FromString(twice).resource_spans[0].scope_spans[0].spans[0].trace_id) == 16
    assert are_ids_valid(twice)
