"""The store as the rest of whyspan sees it: write spans, read them back, query them.

Arrow and the decoders take longer to load than most questions take to answer, so what needs them is imported when it
is first used.
"""

import weakref
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..errors import StoreError
from ..spans import LogRecord, Span, TraceId
from .layout import Layout, schema_name
from .manifest import Manifest
from .views import FILE_VIEWS
from .wal import list_segments

if TYPE_CHECKING:
    import duckdb

    from .lookup import Lookup
    from .maintenance import StoreStats
    from .reader import Views
    from .writing import Writer


class Store:
    """A store folder. Several processes may have it open at once, each for reading and writing."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self._layout = layout
        self._manifest = manifest
        self._used_writer: Writer | None = None

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
        if not _has_all_columns(manifest):
            from .writing import fix_columns

            fix_columns(layout, manifest)
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
        if self._used_writer:
            self._used_writer.close()
        self._manifest.close()

    @property
    def path(self) -> Path:
        """The store folder."""
        return self._layout.root

    def write(self, spans: Iterable[Span], logs: Iterable[LogRecord] = ()) -> None:
        """Stores spans and log records; they are durable and queryable when it returns.

        A span that the store has already, by trace and span id, is not stored again.
        """
        self._writer.write(spans, logs)

    def replace(self, spans: Iterable[Span]) -> None:
        """Stores newer versions of spans: what the store has under their ids goes, then they are written.

        A process that dies in between leaves neither, so the caller must be able to bring them again.
        """
        self._writer.replace(spans)

    def known_traces(self, trace_ids: Iterable[str]) -> set[str]:
        """Returns those of the traces that have spans in the store."""
        return {id for ids in self._manifest.files_of("spans", trace_ids).values() for id in ids}

    def refresh(self) -> None:
        """Makes what other writers have acknowledged visible, as far as that is possible in two seconds."""
        if list_segments(self._layout.wal):
            self._writer.refresh()

    def connect(self) -> "duckdb.DuckDBPyConnection":
        """Returns an in-memory DuckDB with the views of `views` over what is stored now.

        The connection cannot change the store. It stays valid for ten minutes of compaction; take a new one to see
        new data.
        """
        views = self.views()
        views.make_all()
        return views.db

    def views(self, *, sandboxed: bool = False) -> "Views":
        """Returns what `connect` returns, with each view made when it is needed; `sandboxed` as there."""
        from .reader import Views

        files = self._manifest.snapshot().items()
        paths = {kind: [str(self.path / path) for path in paths] for kind, paths in files}
        return Views(paths, lambda trace_id: self._lookup.bodies(trace_id), sandboxed=sandboxed)

    def spans(self, trace_id: TraceId) -> list[Span]:
        """Returns the spans of a trace in start order; empty when the trace is unknown."""
        return self._lookup.spans(trace_id)

    def logs(self, trace_id: TraceId) -> list[LogRecord]:
        """Returns the log records of a trace in the order of arrival."""
        return self._lookup.logs(trace_id)

    def traces(self, trace_ids: Sequence[TraceId]) -> dict[TraceId, tuple[list[Span], list[LogRecord]]]:
        """Returns the spans and log records of some traces, ordered as `spans` and `logs` do; far cheaper than each."""
        return self._lookup.traces(trace_ids)

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
        from .querying import open_sandbox
        from .runs import resolve_run

        with open_sandbox(self) as sandbox:
            return resolve_run(sandbox, reference)[::-1]

    def compact(self, *, grace_ns: int | None = None) -> int:
        """Merges small files; returns the number of merges. What is replaced stays on disk for ten minutes.

        `grace_ns`: another time than those ten minutes.
        """
        from .compaction import GRACE_NS, compact

        return compact(self._layout, self._manifest, grace_ns=GRACE_NS if grace_ns is None else grace_ns)

    def prune(self, *, keep_days: int) -> int:
        """Deletes what began more than `keep_days` ago; returns the number of rows."""
        from .maintenance import prune

        return prune(self._layout, self._manifest, keep_days=keep_days)

    def verify(self) -> list[str]:
        """Returns what is wrong with the store, a line each."""
        from .maintenance import verify

        return verify(self._layout, self._manifest)

    def stats(self) -> "StoreStats":
        """Returns the store in numbers."""
        from .maintenance import collect_stats

        return collect_stats(self._layout, self._manifest)

    @cached_property
    def _lookup(self) -> "Lookup":
        from .lookup import Lookup

        return Lookup(self.path, self._manifest)

    @property
    def _writer(self) -> "Writer":
        from .writing import Writer

        self._used_writer = self._used_writer or Writer(self._layout, self._manifest)
        return self._used_writer


def _has_all_columns(manifest: Manifest) -> bool:
    present = {Path(file.path).name for file in manifest.live_files() if file.tier == "schema"}
    return present >= {schema_name(kind) for kind in FILE_VIEWS}


def open_store(uri: str | Path) -> "duckdb.DuckDBPyConnection":
    """Returns a DuckDB connection with whyspan's views over a store; see `Store.connect`."""
    store = Store.open(uri)
    db = store.connect()
    weakref.finalize(db, store.close)  # not before: long text is looked up when a query wants it
    return db
