"""Sorted files → their rows in one order, in bounded memory however large the files are.

Each file is read a batch at a time. What sorts before the last row that is known of every file cannot be preceded by
anything still to be read: it is put in order and given out.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .parquet import in_order
from .schema import TABLES, TableSpec

_BATCH_BYTES = 8 << 20
"""What the files together have in memory, about."""
_BATCH_ROWS = 32_768
_MIN_ROWS = 64
_BUFFER_BYTES = 1 << 16
_WITHOUT_TRACE = "~"
"""Sorts after every trace id: rows without one come last."""


def merged(paths: Sequence[Path], kind: str) -> Iterator[pa.Table]:
    """Yields all rows of some files, each of which is sorted by trace and order, in that order."""
    spec = TABLES[kind]
    sources = [_Source(path, spec, len(paths)) for path in paths]
    while waiting := [source for source in sources if source.fill()]:
        # A file that is read to its end holds nobody up.
        limit = min((source.last for source in waiting if not source.is_read), default=None)
        yield in_order(pa.concat_tables([source.take(limit) for source in waiting]), spec)


class _Source:
    """A file that is read batch by batch."""

    def __init__(self, path: Path, spec: TableSpec, files: int) -> None:
        self._spec = spec
        self._file = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        self._batches = self._file.iter_batches(_rows_per_batch(self._file.metadata, files), use_threads=False)
        self._rows = spec.schema.empty_table()
        self.is_read = False
        self.last: tuple[str, Any] = ("", 0)

    def fill(self) -> bool:
        """Reads on if nothing is left of what was read; tells whether there are rows."""
        while not self._rows.num_rows and not self.is_read:
            batch = next(self._batches, None)
            if batch is None:
                self.is_read = True
                self._file.close()
            elif batch.num_rows:
                self._rows = _conform(batch, self._spec.schema)
                self.last = self._key(-1)
        return bool(self._rows.num_rows)

    def take(self, limit: tuple[str, Any] | None) -> pa.Table:
        """Returns the rows up to a key, and keeps the others."""
        count = self._rows.num_rows if limit is None else self._count(*limit)
        taken, self._rows = self._rows.slice(0, count), self._rows.slice(count)
        return taken

    def _key(self, row: int) -> tuple[str, Any]:
        trace_id = self._rows["trace_id"][row].as_py()
        return trace_id or _WITHOUT_TRACE, self._rows[self._spec.order][row].as_py()

    def _count(self, trace_id: str, order: Any) -> int:
        traces, orders = pc.fill_null(self._rows["trace_id"], _WITHOUT_TRACE), self._rows[self._spec.order]
        at_limit = pc.and_(pc.equal(traces, trace_id), pc.less_equal(orders, pa.scalar(order, orders.type)))
        count: int = pc.sum(pc.or_(pc.less(traces, trace_id), at_limit)).as_py() or 0
        return count


def _rows_per_batch(metadata: pq.FileMetaData, files: int) -> int:
    size = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    average: int = max(1, size // max(1, metadata.num_rows))
    return max(_MIN_ROWS, min(_BATCH_ROWS, _BATCH_BYTES // average) // files)


def _conform(rows: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Returns the rows with all columns: files written before a column was added lack it."""
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
