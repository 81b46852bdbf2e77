"""The store as the rest of whyspan sees it: write spans, read them back, query them."""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..errors import StoreError
from ..otlp import encode_logs, encode_traces
from ..spans import LogRecord, Span, TraceId
from .compaction import GRACE_NS, compact
from .durable import try_lock
from .layout import Layout
from .maintenance import StoreStats, collect_stats, drop_spans, prune, verify
from .manifest import Manifest
from .parquet import schema_name, write_file
from .reader import connect, read_trace, read_traces
from .roller import Roller
from .rows import Senders, read_log_record, read_span
from .runs import resolve_run
from .schema import TABLES
from .wal import Frame, FrameKind, Position, WalWriter, list_segments

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
_FRAME_ITEMS = 500
"""Items per frame: some megabytes of GenAI spans."""
_REFRESH_S = 2.0
"""How long a reader may be busy with what writers have left in the WAL."""
_VISIBLE_S = 30.0
"""How long `write` waits for another process's roll before it gives up."""
_MAX_HOT_FILES = 32
"""Beyond so many, a write is followed by compaction."""


class Store:
    """A store folder. Several processes may have it open at once, each for reading and writing."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self._layout = layout
        self._manifest = manifest
        self._wal = WalWriter(layout.wal)
        self._roller = Roller(layout, manifest)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Opens a store and makes everything that was acknowledged visible.

        Raises StoreError when there is none.
        """
        layout = Layout(Path(path))
        # A collector acknowledges into the log before its roller has made the manifest: then the log is the store.
        if not layout.manifest.is_file() and not list_segments(layout.wal):
            raise StoreError(
                f"no store at {path}",
                hint="make one with `whyspan demo`, `whyspan serve` or `whyspan import otlp FILE`",
            )
        return cls.create(path)

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Opens a store, making it when there is none."""
        layout = Layout(Path(path))
        try:
            layout.make()
        except OSError as error:
            raise StoreError(f"cannot make a store at {path}: {error.strerror}") from error
        manifest = Manifest.create(layout.manifest)
        _fix_columns(layout, manifest)
        store = cls(layout, manifest)
        store.refresh()
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the files; what was written stays."""
        self._wal.close()
        self._manifest.close()

    @property
    def path(self) -> Path:
        """The store folder."""
        return self._layout.root

    def write(self, spans: Iterable[Span], logs: Iterable[LogRecord] = ()) -> None:
        """Stores spans and log records; they are durable and queryable when it returns.

        A span that the store has already, by trace and span id, is not stored again.
        """
        now = time.time_ns()
        frames = [
            *(Frame(kind=FrameKind.TRACES, payload=encode_traces(c), received_ns=now) for c in _chunks(spans)),
            *(Frame(kind=FrameKind.LOGS, payload=encode_logs(c), received_ns=now) for c in _chunks(logs)),
        ]
        if frames:
            self._make_visible(self._wal.append(frames))
            self._tidy()

    def replace(self, spans: Iterable[Span]) -> None:
        """Stores newer versions of spans: what the store has under their ids goes, then they are written.

        A process that dies in between leaves neither, so the caller must be able to bring them again.
        """
        newer = list(spans)
        if newer:
            drop_spans(self._layout, self._manifest, {(s.trace_id, s.span_id) for s in newer})
            self.write(newer)

    def known_traces(self, trace_ids: Iterable[str]) -> set[str]:
        """Returns those of the traces that have spans in the store."""
        return {id for ids in self._manifest.files_of("spans", trace_ids).values() for id in ids}

    def refresh(self) -> None:
        """Makes what other writers have acknowledged visible, as far as that is possible in two seconds."""
        self._roller.roll_everything(deadline_s=_REFRESH_S)

    def connect(self, *, sandboxed: bool = False) -> "duckdb.DuckDBPyConnection":
        """Returns an in-memory DuckDB with the views of `views.py` over what is stored now.

        The connection cannot change the store. It stays valid for ten minutes of compaction; take a new one to see
        new data. `sandboxed`: it can reach no other file either.
        """
        paths = {kind: self._absolute(files) for kind, files in self._manifest.snapshot().items()}
        return connect(paths, self._bodies, sandboxed=sandboxed)

    def spans(self, trace_id: TraceId) -> list[Span]:
        """Returns the spans of a trace in start order; empty when the trace is unknown."""
        senders, bodies = Senders(), self._bodies(trace_id)
        return [read_span(row, senders, bodies) for row in self._rows("spans", trace_id)]

    def logs(self, trace_id: TraceId) -> list[LogRecord]:
        """Returns the log records of a trace in the order of arrival."""
        senders, bodies = Senders(), self._bodies(trace_id)
        return [read_log_record(row, senders, bodies) for row in self._rows("log_records", trace_id)]

    def traces(self, trace_ids: Sequence[TraceId]) -> dict[TraceId, tuple[list[Span], list[LogRecord]]]:
        """Returns the spans and log records of some traces, ordered as `spans` and `logs` do; far cheaper than each."""
        rows = {kind: self._rows_by_trace(kind, trace_ids) for kind in ("spans", "log_records", "messages")}
        senders = Senders()
        found = {}
        for trace_id in trace_ids:
            bodies = {row["hash"]: row["body"] for row in rows["messages"][trace_id]}
            spans = [read_span(row, senders, bodies) for row in rows["spans"][trace_id]]
            found[trace_id] = (spans, [read_log_record(row, senders, bodies) for row in rows["log_records"][trace_id]])
        return found

    def all_trace_ids(self) -> list[TraceId]:
        """Returns every trace that has spans, whyspan's own included, sorted."""
        return [TraceId(id) for id in self._manifest.trace_ids("spans")]

    def resolve_run(self, reference: str) -> TraceId:
        """Returns the run that `last`, a trace id or its beginning, or a session id stands for.

        Of a session with several runs it is the latest. Raises NotFoundError, naming the latest runs, and
        UsageError for a beginning that several runs share.
        """
        return self.resolve_traces(reference)[-1]

    def resolve_traces(self, reference: str) -> list[TraceId]:
        """Returns every trace that a reference stands for, in start order: all of a session, else the one run.

        Raises what `resolve_run` raises.
        """
        with self.connect() as db:
            return resolve_run(db, reference)[::-1]

    def compact(self, *, grace_ns: int = GRACE_NS) -> int:
        """Merges small files; returns the number of merges. What is replaced stays on disk for `grace_ns`."""
        return compact(self._layout, self._manifest, grace_ns=grace_ns)

    def prune(self, *, keep_days: int) -> int:
        """Deletes what began more than `keep_days` ago; returns the number of rows."""
        return prune(self._layout, self._manifest, keep_days=keep_days)

    def verify(self) -> list[str]:
        """Returns what is wrong with the store, a line each."""
        return verify(self._layout, self._manifest)

    def stats(self) -> StoreStats:
        """Returns the store in numbers."""
        return collect_stats(self._layout, self._manifest)

    def _rows(self, kind: str, trace_id: str) -> list[dict[str, Any]]:
        files = self._manifest.files_of(kind, [trace_id])
        return read_trace(self._absolute(files), kind, trace_id)

    def _rows_by_trace(self, kind: str, trace_ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        files = self._manifest.files_of(kind, trace_ids)
        return read_traces(self._absolute(files), trace_ids, TABLES[kind].order)

    def _bodies(self, trace_id: str) -> dict[str, str]:
        return {row["hash"]: row["body"] for row in self._rows("messages", trace_id)}

    def _absolute(self, files: Iterable[str]) -> list[str]:
        return [str(self.path / file) for file in files]

    def _make_visible(self, position: Position) -> None:
        """Rolls up to the position, unless another process does."""
        deadline = time.monotonic() + _VISIBLE_S
        while not self._is_rolled(position):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{self.path} is locked by a process that does not finish",
                    hint="what was written is safe and becomes visible once that process ends",
                )
            self._roller.roll(wait_s=0.05)

    def _tidy(self) -> None:
        """Merges what this and other short-lived writers have scattered, now and then."""
        if sum(file.tier == "hot" for file in self._manifest.live_files()) > _MAX_HOT_FILES:
            compact(self._layout, self._manifest)

    def _is_rolled(self, position: Position) -> bool:
        return self._manifest.rolled().get(position.segment, 0) >= position.offset


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, _FRAME_ITEMS)):
        yield chunk


def _fix_columns(layout: Layout, manifest: Manifest) -> None:
    """Gives each table a file without rows that has all its columns, so that views never miss one.

    A new store has no other files, and an older one may have been written before a column was added.
    """
    wanted = {schema_name(kind): kind for kind in TABLES}
    if wanted.keys() <= _schema_files(manifest).keys():
        return
    with try_lock(layout.roll_lock, wait_s=_VISIBLE_S) as locked:
        if not locked:
            raise StoreError(f"{layout.root} is locked by a process that does not finish", hint="try again later")
        present = _schema_files(manifest)  # again: the process that had the lock may have done it
        files = [
            write_file(layout, kind, TABLES[kind].schema.empty_table(), tier="schema", name=name)
            for name, kind in wanted.items()
            if name not in present
        ]
        manifest.replace([path for name, path in present.items() if name not in wanted], files)


def _schema_files(manifest: Manifest) -> dict[str, str]:
    return {Path(file.path).name: file.path for file in manifest.live_files() if file.tier == "schema"}


def open_store(uri: str | Path) -> "duckdb.DuckDBPyConnection":
    """Returns a DuckDB connection with whyspan's views over a store; see `Store.connect`."""
    with Store.open(uri) as store:
        return store.connect()
