"""Traces by their ids: spans, log records and messages, from the files that hold them."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ..spans import LogRecord, Span, TraceId
from .manifest import Manifest
from .quoting import parquet
from .rows import Senders, read_log_record, read_span
from .schema import TABLES

_BATCH_ROWS = 1024
"""Rows that are looked at together."""


class Lookup:
    """Reads traces of one store; which files hold a trace is in the manifest."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self._root = root
        self._manifest = manifest

    def spans(self, trace_id: TraceId) -> list[Span]:
        """Returns the spans of a trace in start order; empty when the trace is unknown."""
        senders, bodies = Senders(), self.bodies(trace_id)
        return [read_span(row, senders, bodies) for row in self._rows("spans", trace_id)]

    def logs(self, trace_id: TraceId) -> list[LogRecord]:
        """Returns the log records of a trace in the order of arrival."""
        senders, bodies = Senders(), self.bodies(trace_id)
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

    def bodies(self, trace_id: str) -> dict[str, str]:
        """Returns the messages of a trace by hash."""
        return {row["hash"]: row["body"] for row in self._rows("messages", trace_id)}

    def _rows(self, kind: str, trace_id: str) -> list[dict[str, Any]]:
        return _read_trace(self._files(kind, [trace_id]), kind, trace_id)

    def _rows_by_trace(self, kind: str, trace_ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        return _read_traces(self._files(kind, trace_ids), trace_ids, TABLES[kind].order)

    def _files(self, kind: str, trace_ids: Iterable[str]) -> list[Path]:
        return [self._root / file for file in self._manifest.files_of(kind, trace_ids)]


def _read_trace(paths: Sequence[Path], kind: str, trace_id: str) -> list[dict[str, Any]]:
    """Returns the rows that files hold of one trace, in their order; columns that older files lack are None."""
    spec = TABLES[kind]
    lacking = dict.fromkeys(spec.schema.names)
    rows = [{**lacking, **row} for path in paths for row in _rows_in(path, trace_id)]
    return sorted(rows, key=itemgetter(spec.order))


def _rows_in(path: Path, trace_id: str) -> list[dict[str, Any]]:
    """Returns the rows of a trace that a file holds: one stretch, as files are sorted by trace.

    Arrow's own filters read whole row groups, and load pandas where that is installed, which takes longer than this.
    """
    rows: list[dict[str, Any]] = []
    with pq.ParquetFile(path) as file:
        groups = [n for n in range(file.num_row_groups) if _may_hold(file.metadata.row_group(n), trace_id)]
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, use_threads=False):
            ids = batch["trace_id"].to_pylist()
            count = ids.count(trace_id)
            if rows and not count:
                break
            rows += batch.slice(ids.index(trace_id) if count else 0, count).to_pylist()
    return rows


def _may_hold(group: pq.RowGroupMetaData, trace_id: str) -> bool:
    bounds = group.column(0).statistics
    return bounds is None or not bounds.has_min_max or bounds.min <= trace_id <= bounds.max


def _read_traces(paths: Sequence[Path], trace_ids: Sequence[str], order: str) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows that files hold of some traces, by trace: one pass instead of one a trace."""
    found: dict[str, list[dict[str, Any]]] = {trace_id: [] for trace_id in trace_ids}
    if not paths:
        return found
    with duckdb.connect(":memory:") as db:
        query = f"SELECT * FROM {parquet(paths)} WHERE trace_id IN (SELECT unnest(?)) ORDER BY trace_id, {order}"
        table: pa.Table = db.sql(query, params=[list(trace_ids)]).to_arrow_table()
        for row in table.to_pylist():
            found[row["trace_id"]].append(row)
    return found
