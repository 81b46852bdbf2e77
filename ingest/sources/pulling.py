"""Driving an import: the next page is fetched while the last one is taken in, and many pages are stored at once.

The position is kept after what it stands behind is stored, never before: an import that dies is continued, repeats what
was not stored yet, and loses nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..garbage import rare_collections
from ..spans import Span, TraceId
from .decoded import GROUP_SIZE, Reject, text_size
from .positions import Positions
from .source import Batch, Source

if TYPE_CHECKING:
    from ..store import Store


@dataclass(slots=True, kw_only=True)
class PullReport:
    """What an import brought in so far."""

    spans: int = 0
    """Read, repetitions included; the store keeps each once."""
    scores: int = 0
    batches: int = 0
    rejects: list[Reject] = field(default_factory=list)


def pull(store: "Store", source: Source, *, progress: Callable[[PullReport], None] = lambda _: None) -> PullReport:
    """Imports what a source has and the store has not, and returns the counts."""
    report = PullReport()
    with Positions.open(store.path) as positions, rare_collections():
        group = Group(store, positions, source.key)
        try:
            for batch in _fetched_ahead(source.batches(positions.get(source.key))):
                group.add(batch)
                report.batches += 1
                report.spans += len(batch.spans)
                report.scores += len(batch.logs)
                report.rejects += batch.rejects
                progress(report)
        finally:
            group.flush()
    return report


class Group:
    """Batches that are stored together."""

    def __init__(self, store: "Store", positions: Positions, key: str) -> None:
        self._store = store
        self._positions = positions
        self._key = key
        self._batches: list[Batch] = []
        self._size = 0

    def add(self, batch: Batch) -> None:
        """Takes a batch, and stores what has come together once it is much."""
        self._batches.append(batch)
        self._size += text_size((*batch.spans, *batch.logs))
        if self._size >= GROUP_SIZE:
            self.flush()

    def flush(self) -> None:
        """Stores what has come together, and then keeps the position after it."""
        batches, self._batches, self._size = self._batches, [], 0
        if not batches:
            return
        spans: list[Span] = []
        for version_key in dict.fromkeys(batch.version_key for batch in batches):
            of_kind = [span for batch in batches if batch.version_key == version_key for span in batch.spans]
            latest = latest_versions(of_kind, version_key)
            self._store.replace(find_newer(self._store, latest, version_key))
            spans += latest
        self._store.write(spans, [log for batch in batches for log in batch.logs])
        self._positions.put(self._key, batches[-1].position)


def latest_versions(spans: Iterable[Span], version_key: str) -> list[Span]:
    """Returns each span once, as it was changed last, where the back end says when."""
    if not version_key:
        return list(spans)
    latest: dict[tuple[str, str], Span] = {}
    for span in spans:
        known = latest.setdefault((span.trace_id, span.span_id), span)
        if known is not span and _version(known, version_key) < _version(span, version_key):
            latest[span.trace_id, span.span_id] = span
    return list(latest.values())


def find_newer(store: "Store", spans: Iterable[Span], version_key: str) -> list[Span]:
    """Returns the spans that the store has in an older version."""
    versions = {(s.trace_id, s.span_id): (s, _version(s, version_key)) for s in spans if version_key}
    known = store.known_traces({trace_id for trace_id, _ in versions})
    stored = store.traces(sorted(map(TraceId, known))) if known else {}
    old = {(s.trace_id, s.span_id): _version(s, version_key) for found, _ in stored.values() for s in found}
    return [span for ids, (span, version) in versions.items() if ids in old and version > old[ids]]


def _version(span: Span, version_key: str) -> str:
    return str(span.attributes.get(version_key, ""))


def _fetched_ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yields the batches; the next one is being fetched while the caller takes this one in."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        following = pool.submit(next, batches, None)
        while (batch := following.result()) is not None:
            following = pool.submit(next, batches, None)
            yield batch
