"""What an importer of another back end is, and how all of them are driven.

A source yields batches, each with the position to go on from once the batch is stored. The position is kept in the
store after the batch, never before: an import that dies is continued, repeats at most one batch, and loses none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..spans import LogRecord, Span
from .decoded import Reject
from .positions import Positions

if TYPE_CHECKING:
    from ..store import Store

Position: TypeAlias = Mapping[str, Any]
"""JSON; only its source understands it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to import; an empty selection is everything."""

    start_ns: int | None = None
    """Unix ns; None: from where the last import of this selection ended, at first from the beginning."""
    end_ns: int | None = None
    """Unix ns, exclusive; None: until now."""
    is_rolling: bool = False
    """The start is relative to now (`--since`): a later import goes on where the last one ended."""
    trace_ids: tuple[str, ...] = ()
    """Ids in the back end's own words."""
    session_id: str = ""
    tags: tuple[str, ...] = ()
    """Any of them."""
    name: str = ""
    """Name of the trace."""
    environment: str = ""
    projects: tuple[str, ...] = ()

    def words(self) -> dict[str, Any]:
        """Returns the filters without the times: what an import must have in common with an earlier one."""
        lists = {"traces": self.trace_ids, "tags": self.tags, "projects": self.projects}
        texts = {"session": self.session_id, "name": self.name, "environment": self.environment}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in {**lists, **texts}.items() if v}


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some of what a source has."""

    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
    """Scores, as evaluation events."""
    rejects: tuple[Reject, ...] = ()
    version_key: str = ""
    """The attribute that says when a span was last changed, ISO 8601, where the back end changes spans."""
    position: Position
    """Where to go on once this batch is stored."""


class Source(Protocol):
    """A back end to import from."""

    @property
    def key(self) -> str:
        """Back end, project and selection: imports with the same key continue one another."""

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yields what there is from a position on; None is the beginning.

        Raises UpstreamError when the back end fails for good, ConfigError when it refuses the keys.
        """


@dataclass(slots=True, kw_only=True)
class PullReport:
    """What an import brought in so far."""

    spans: int = 0
    """Read, repetitions included; the store keeps each once."""
    scores: int = 0
    batches: int = 0
    rejects: list[Reject] = field(default_factory=list)


def find_newer(store: "Store", spans: Iterable[Span], version_key: str) -> list[Span]:
    """Returns the spans that the store has in an older version."""
    versions = {(s.trace_id, s.span_id): (s, str(s.attributes.get(version_key, ""))) for s in spans if version_key}
    known = store.known_traces({trace_id for trace_id, _ in versions})
    if not known:
        return []
    query = "SELECT trace_id, span_id, attr(attributes, $key) FROM spans WHERE trace_id IN (SELECT unnest($traces))"
    with store.connect() as db:
        stored = db.execute(query, {"key": version_key, "traces": sorted(known)}).fetchall()
    old = {(trace_id, span_id): version or "" for trace_id, span_id, version in stored}
    return [span for ids, (span, version) in versions.items() if ids in old and version > old[ids]]


def pull(store: "Store", source: Source, *, progress: Callable[[PullReport], None] = lambda _: None) -> PullReport:
    """Imports what a source has and the store has not, and returns the counts."""
    report = PullReport()
    with Positions.open(store.path) as positions:
        for batch in _fetched_ahead(source.batches(positions.get(source.key))):
            store.replace(find_newer(store, batch.spans, batch.version_key))
            store.write(batch.spans, batch.logs)
            positions.put(source.key, batch.position)
            report.batches += 1
            report.spans += len(batch.spans)
            report.scores += len(batch.logs)
            report.rejects += batch.rejects
            progress(report)
    return report


def _fetched_ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yields the batches; the next one is being fetched while the caller stores this one."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        following = pool.submit(next, batches, None)
        while (batch := following.result()) is not None:
            following = pool.submit(next, batches, None)
            yield batch
