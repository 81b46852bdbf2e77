"""A newer version of a span takes the place of the old one, in whichever file that is."""

from pathlib import Path

from whyspan.ingest.spans import Span, SpanId, TraceId
from whyspan.ingest.store import Store


def make_span(index: int, name: str) -> Span:
    ids = TraceId(f"{index // 2 + 1:032x}"), SpanId(f"{index + 1:016x}")
    return Span(trace_id=ids[0], span_id=ids[1], name=name, start_ns=index + 1, end_ns=index + 2)


def names(store: Store) -> list[str]:
    with store.connect() as db:
        return [name for (name,) in db.execute("SELECT name FROM spans ORDER BY start_ns").fetchall()]


def test_only_the_given_spans_are_replaced(tmp_path: Path) -> None:
    with Store.create(tmp_path) as store:
        store.write([make_span(i, f"old {i}") for i in range(4)])
        store.write([make_span(4, "old 4")])
        store.replace([make_span(1, "new 1"), make_span(4, "new 4"), make_span(5, "new 5")])
        assert names(store) == ["old 0", "new 1", "old 2", "old 3", "new 4", "new 5"]
        assert [s.name for s in store.spans(TraceId(f"{1:032x}"))] == ["old 0", "new 1"]


def test_a_replaced_span_is_not_written_twice_by_another_writer(tmp_path: Path) -> None:
    with Store.create(tmp_path) as one, Store.create(tmp_path) as other:
        one.write([make_span(0, "old")])
        other.write([make_span(1, "other")])
        one.replace([make_span(0, "new")])
        other.write([make_span(0, "late duplicate")])
        assert names(one) == ["new", "other"]


def test_known_traces_are_those_with_spans(tmp_path: Path) -> None:
    with Store.create(tmp_path) as store:
        store.write([make_span(0, "a")])
        assert store.known_traces([f"{1:032x}", f"{2:032x}"]) == {f"{1:032x}"}
