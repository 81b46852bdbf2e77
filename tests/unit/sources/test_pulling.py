"""How an import is driven: many pages are stored at once, and nothing depends on where a page ends."""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from whyspan.ingest.errors import UpstreamError
from whyspan.ingest.sources import pulling
from whyspan.ingest.sources.decoded import GROUP_SIZE
from whyspan.ingest.sources.positions import Positions
from whyspan.ingest.sources.pulling import pull
from whyspan.ingest.sources.source import Batch, Position
from whyspan.ingest.spans import Span, SpanId, TraceId
from whyspan.ingest.store import Store

VERSION = "changed"


def make_batch(number: int, *spans: tuple[int, str]) -> Batch:
    """Returns a batch of (span number, version); a trace has three spans."""
    made = [
        Span(
            trace_id=TraceId(f"{n // 3 + 1:032x}"), span_id=SpanId(f"{n + 1:016x}"), name=version, start_ns=n + 1,
            end_ns=n + 2, attributes={VERSION: version},
        )
        for n, version in spans
    ]  # fmt: skip
    return Batch(spans=tuple(made), version_key=VERSION, position={"next": number + 1})


@dataclass
class Listed:
    """A source that has the given batches, and may die after them."""

    given: Sequence[Batch]
    failure: UpstreamError | None = None
    key: str = "listed"

    def batches(self, position: Position | None) -> Iterator[Batch]:
        yield from self.given[position["next"] if position else 0 :]
        if self.failure:
            raise self.failure


def names(store: Store) -> list[str]:
    with store.connect() as db:
        return [name for (name,) in db.execute("SELECT name FROM spans ORDER BY start_ns").fetchall()]


@pytest.mark.parametrize("size", [1, GROUP_SIZE], ids=["each page alone", "all pages at once"])
def test_the_latest_version_counts_wherever_it_comes(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "GROUP_SIZE", size)
    given = [make_batch(0, (0, "1"), (1, "3"), (2, "1")), make_batch(1, (1, "2"), (2, "2"), (3, "1"))]
    with Store.create(tmp_path) as store:
        report = pull(store, Listed(given))
        assert names(store) == ["1", "3", "2", "1"]
    assert (report.spans, report.batches) == (6, 2)


def test_small_pages_are_stored_together(tmp_path: Path) -> None:
    with Store.create(tmp_path) as store:
        pull(store, Listed([make_batch(i, (i, "1")) for i in range(40)]))
        assert len(names(store)) == 40
        assert [t.files for t in store.stats().tables if t.table == "spans"] == [1]


def test_what_came_before_the_other_side_died_is_kept(tmp_path: Path) -> None:
    source = Listed([make_batch(0, (0, "1")), make_batch(1, (1, "1"))], UpstreamError("gone"))
    with Store.create(tmp_path) as store:
        with pytest.raises(UpstreamError, match="gone"):
            pull(store, source)
        assert names(store) == ["1", "1"]
    with Positions.open(tmp_path) as positions:
        assert positions.get(source.key) == {"next": 2}


def test_the_collector_of_cycles_is_left_as_it_was(tmp_path: Path) -> None:
    before = gc.get_threshold()
    with Store.create(tmp_path) as store:
        pull(store, Listed([make_batch(0, (0, "1"))]))
    assert gc.get_threshold() == before
