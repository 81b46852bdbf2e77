"""What an operator does to a store: look at it, check it, and let old data go."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import StoreError
from .compaction import rewrite
from .durable import try_lock
from .layout import Layout
from .manifest import Commit, LiveFile, Manifest
from .quoting import parquet, quote, quote_list
from .roller import pending_bytes
from .schema import TABLES

_LOCK_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStats:
    """A table in numbers."""

    table: str
    files: int
    rows: int
    bytes: int
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """A store in numbers."""

    tables: Sequence[TableStats]
    pending_bytes: int
    """Acknowledged and not yet in Parquet."""
    quarantined: int
    """Requests set aside because they could not be decoded."""


def collect_stats(layout: Layout, manifest: Manifest) -> StoreStats:
    """Returns the numbers, from the manifest alone."""
    files = [file for file in manifest.live_files() if file.tier != "schema"]
    return StoreStats(
        tables=[_table_stats(kind, [file for file in files if file.kind == kind]) for kind in TABLES],
        pending_bytes=pending_bytes(layout, manifest),
        quarantined=sum(1 for _ in layout.quarantine.iterdir()),
    )


def _table_stats(kind: str, files: Sequence[LiveFile]) -> TableStats:
    return TableStats(
        table=kind,
        files=len(files),
        rows=sum(file.rows for file in files),
        bytes=sum(file.bytes for file in files),
        oldest=_moment(min((file.min_us for file in files if file.min_us is not None), default=None)),
        newest=_moment(max((file.max_us for file in files if file.max_us is not None), default=None)),
    )


def _moment(time_us: int | None) -> datetime | None:
    return None if time_us is None else datetime.fromtimestamp(time_us / 1e6, UTC)


def prune(layout: Layout, manifest: Manifest, *, keep_days: int) -> int:
    """Deletes spans and log records that began more than `keep_days` ago, and text that no row needs any more.

    Returns the number of rows deleted. Readers that are under way keep what they have opened.
    """
    cutoff_us = time.time_ns() // 1000 - keep_days * 86_400_000_000
    with try_lock(layout.compact_lock, wait_s=_LOCK_S) as locked:
        if not locked:
            raise StoreError(f"{layout.root} is being compacted by another process", hint="try again later")
        before = sum(file.rows for file in manifest.live_files())
        for file in manifest.live_files():
            if file.kind != "messages" and file.min_us is not None and file.min_us < cutoff_us:
                _keep_rows(layout, manifest, file, f"{TABLES[file.kind].time} >= make_timestamp({cutoff_us})")
        _prune_messages(layout, manifest)
        return before - sum(file.rows for file in manifest.live_files())


def _prune_messages(layout: Layout, manifest: Manifest) -> None:
    """Text goes when its trace has gone: a span may use text that an older span has brought."""
    living = set(manifest.trace_ids("spans")) | set(manifest.trace_ids("log_records"))
    for file in manifest.live_files():
        if file.kind == "messages":
            gone = manifest.traces_in(file.path) - living
            if gone:
                _keep_rows(layout, manifest, file, f"trace_id NOT IN (SELECT unnest({quote_list(sorted(gone))}))")


def _keep_rows(layout: Layout, manifest: Manifest, file: LiveFile, condition: str) -> None:
    new = rewrite(layout, file.kind, [file.path], tier=file.tier, condition=condition)
    manifest.replace([file.path], [new] if new else [])


def drop_spans(layout: Layout, manifest: Manifest, ids: Collection[tuple[str, str]]) -> None:
    """Deletes single spans, given by trace and span id, to make place for newer versions of them."""
    pairs = ", ".join(f"({quote(trace_id)}, {quote(span_id)})" for trace_id, span_id in sorted(ids))
    with (
        try_lock(layout.compact_lock, wait_s=_LOCK_S) as is_alone,
        try_lock(layout.roll_lock, wait_s=_LOCK_S) as locked,
    ):
        if not (is_alone and locked):
            raise StoreError(f"{layout.root} is locked by another process", hint="try again later")
        holding = manifest.files_of("spans", {trace_id for trace_id, _ in ids})
        for file in manifest.live_files():
            if file.path in holding:
                _keep_rows(layout, manifest, file, f"(trace_id, span_id) NOT IN ({pairs})")
        # A new number tells every roller that what it remembers of the store is no longer true.
        manifest.commit(Commit(files=[], rolled={}, next_seq=manifest.next_seq() + 1))


def verify(layout: Layout, manifest: Manifest) -> list[str]:
    """Returns what is wrong with the store, a line each; nothing when it is sound."""
    files = manifest.live_files()
    problems = [problem for file in files for problem in _check_file(layout, file)]
    if problems:
        return problems  # queries over broken files would only fail
    with duckdb.connect(":memory:") as db:
        return [*_check_duplicates(db, layout, files), *_check_messages(db, layout, files)]


def _check_file(layout: Layout, file: LiveFile) -> Iterator[str]:
    path = layout.root / file.path
    try:
        rows = pq.read_table(path).num_rows  # reads everything, and thereby every checksum
    except FileNotFoundError:
        yield f"{file.path} is missing"
    except (pa.ArrowException, OSError) as error:
        yield f"{file.path} cannot be read: {error}"
    else:
        if rows != file.rows:
            yield f"{file.path} has {rows} rows, the manifest says {file.rows}"


def _check_duplicates(db: duckdb.DuckDBPyConnection, layout: Layout, files: Iterable[LiveFile]) -> Iterator[str]:
    for kind, spec in TABLES.items():
        paths = [layout.root / file.path for file in files if file.kind == kind]
        query = (
            f"SELECT trace_id, {spec.key}, count(*) FROM {parquet(paths)} WHERE trace_id IS NOT NULL "
            "GROUP BY ALL HAVING count(*) > 1 LIMIT 10"
        )
        for trace_id, key, count in db.execute(query).fetchall():
            yield f"{kind}: trace {trace_id} has {count} rows for {spec.key} {key}"


def _check_messages(db: duckdb.DuckDBPyConnection, layout: Layout, files: Iterable[LiveFile]) -> Iterator[str]:
    """Looks for references to text that is not there."""
    paths = {kind: [layout.root / file.path for file in files if file.kind == kind] for kind in TABLES}
    pattern = quote('"#([0-9a-f]{32})"')
    used = f"""
        SELECT trace_id, pair.value FROM (SELECT trace_id, unnest(attributes) AS pair FROM {parquet(paths["spans"])})
        WHERE ends_with(pair.kind, '*')
        UNION ALL
        SELECT trace_id, body FROM {parquet(paths["log_records"])} WHERE ends_with(body_kind, '*')"""
    references = f"SELECT DISTINCT trace_id, unnest(regexp_extract_all(value, {pattern}, 1)) AS hash FROM ({used})"
    missing = f"({references}) ANTI JOIN {parquet(paths['messages'])} USING (trace_id, hash)"
    for trace_id, text_hash in db.execute(f"SELECT trace_id, hash FROM {missing} LIMIT 10").fetchall():
        yield f"trace {trace_id} lacks the message {text_hash}"
