"""Nothing that a span or a log record can say is lost: on the wire, in the WAL, in Parquet."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from otlp_strategies import records, spans

from whyspan.ingest.otlp import decode_logs, decode_traces, encode_logs, encode_traces
from whyspan.ingest.spans import LogRecord, Span
from whyspan.ingest.store import Store


# repr, not ==: Python takes 1, 1.0 and True for equal, and NaN for different from itself.
@given(st.lists(spans, max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_spans_survive_encoding(batch: list[Span]) -> None:
    assert repr(decode_traces(encode_traces(batch))) == repr(batch)


@given(st.lists(records, max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_log_records_survive_encoding(batch: list[LogRecord]) -> None:
    assert repr(decode_logs(encode_logs(batch))) == repr(batch)


@given(span=spans, record=records)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_store_gives_back_what_was_written(tmp_path_factory: Any, span: Span, record: LogRecord) -> None:
    with Store.create(tmp_path_factory.mktemp("store")) as store:
        store.write([span], [record])
        assert repr(store.spans(span.trace_id)) == repr([span])
        assert record.trace_id is not None
        assert repr(store.logs(record.trace_id)) == repr([record])
