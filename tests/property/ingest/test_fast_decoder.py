"""The fast decoder gives what the plain one gives, for any spans and for all recorded ones."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from otlp_strategies import spans

from whyspan.ingest.otlp import encode_traces, traces_from_json
from whyspan.ingest.spans import Span
from whyspan.ingest.store.arrow_spans import build_spans
from whyspan.ingest.store.bodies import Bodies
from whyspan.ingest.store.span_table import SpanTable
from whyspan.ingest.store.wal import Frame, FrameKind

FIXTURES = Path(__file__).parents[2] / "fixtures"


def frames_of(payloads: list[bytes]) -> list[Frame]:
    return [Frame(kind=FrameKind.TRACES, payload=p, received_ns=n) for n, p in enumerate(payloads)]


def plain(frames: list[Frame]) -> tuple[pa.Table, set[tuple[str, str, int, bytes]]]:
    bodies = Bodies(5)
    table = SpanTable(5, bodies)
    for frame in frames:
        table.add(frame)
    return table.build(), {row[:4] for row in bodies.rows}


def fast(frames: list[Frame]) -> tuple[pa.Table, set[tuple[str, str, int, bytes]]]:
    bodies = Bodies(5)
    return build_spans(frames, 5, bodies), {row[:4] for row in bodies.rows}


def assert_same(payloads: list[bytes]) -> None:
    frames = frames_of(payloads)
    (slow_table, slow_bodies), (fast_table, fast_bodies) = plain(frames), fast(frames)
    assert fast_table.schema == slow_table.schema
    for name in slow_table.column_names:
        assert repr(fast_table[name].to_pylist()) == repr(slow_table[name].to_pylist()), name
    assert fast_bodies == slow_bodies


@given(st.lists(st.lists(spans, max_size=3), max_size=3))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_for_any_spans(batches: list[list[Span]]) -> None:
    assert_same([encode_traces(batch) for batch in batches])


@pytest.mark.parametrize("path", sorted(FIXTURES.rglob("spans*.json")), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_for_recorded_spans(path: Path) -> None:
    assert_same([traces_from_json(path.read_bytes())])


def test_an_empty_batch_has_no_rows() -> None:
    assert_same([])
    assert_same([b""])


def test_a_request_that_cannot_be_decoded_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"decode|invalid|protobuf"):
        fast(frames_of([b"\xff\xff"]))
