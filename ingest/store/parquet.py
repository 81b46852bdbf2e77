"""Arrow tables ⇄ the Parquet files of the store."""

import secrets
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .durable import publish
from .layout import Layout
from .manifest import DataFile
from .schema import LOW_CARDINALITY, TABLES, TableSpec

_MAX_ROWS = 16_384
_GROUP_BYTES = 8 << 20
"""Rows per group are bounded by both: looking up one trace reads whole row groups."""
_PAGE_BYTES = {"schema": 1 << 20, "hot": 1 << 20, "hour": 1 << 20, "day": 4 << 20}
"""Large pages compress better, small ones are cheaper to merge: a merge has one page of each file in memory."""
_PAGE_ROWS = 64
"""Pages end at multiples of so many rows."""
_LEVELS = {"schema": 1, "hour": 3, "day": 9}
"""zstd level by tier: what is written once for good is worth more work, what is soon merged is worth none."""


def write_file(layout: Layout, kind: str, table: pa.Table, *, tier: str, name: str | None = None) -> DataFile:
    """Writes rows, in any order, as a durable file that no manifest names yet; returns its manifest entry."""
    writer = FileWriter(layout, kind, tier, name=name)
    writer.append(in_order(table, TABLES[kind]))
    return writer.finish()


class FileWriter:
    """Writes a data file that nobody sees before it is finished."""

    def __init__(self, layout: Layout, kind: str, tier: str, *, name: str | None = None) -> None:
        self.rows = 0
        self._layout = layout
        self._kind = kind
        self._tier = tier
        self._final = layout.data / (name or new_name(kind, tier))
        self._temporary = layout.data / f".{self._final.name}.tmp"
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self._traces: Counter[str] = Counter()
        self._times_us: list[int] = []

    def append(self, rows: pa.Table) -> None:
        """Adds rows that sort after those before."""
        self._waiting.append(rows)
        self._note(rows)
        if _groups(self._waiting) >= 1:
            self._write()

    def finish(self, *, is_settled: bool = False) -> DataFile:
        """Makes the file durable under its name and returns its manifest entry."""
        if self._waiting:
            self._write()
        if self._writer is not None:
            self._writer.close()
        publish(self._temporary, self._final)
        return DataFile(
            path=str(self._final.relative_to(self._layout.root)),
            kind=self._kind,
            tier=self._tier,
            rows=self.rows,
            bytes=self._final.stat().st_size,
            min_us=min(self._times_us, default=None),
            max_us=max(self._times_us, default=None),
            is_settled=is_settled,
            traces=self._traces,
        )

    def _note(self, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        bounds = pc.min_max(rows[TABLES[self._kind].time].cast(pa.int64())).as_py()
        self._times_us += [time_us for time_us in bounds.values() if time_us is not None]
        counts = pc.value_counts(rows["trace_id"].combine_chunks().drop_null())
        for trace_id, count in zip(*(counts.field(n).to_pylist() for n in ("values", "counts")), strict=True):
            self._traces[trace_id] += count

    def _write(self) -> None:
        table = pa.concat_tables(self._waiting)
        groups = max(1, round(_groups(self._waiting)))
        self._waiting.clear()
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._temporary, table.schema, **_encoding(table.schema, self._tier))
        self._writer.write_table(table, row_group_size=max(1, -(-table.num_rows // groups)))


def _groups(tables: Iterable[pa.Table]) -> float:
    """Returns how many row groups tables are worth."""
    return float(sum(max(table.num_rows / _MAX_ROWS, table.nbytes / _GROUP_BYTES) for table in tables))


def _encoding(schema: pa.Schema, tier: str) -> dict[str, Any]:
    return {
        "compression": "none" if tier == "hot" else "zstd",
        "compression_level": _LEVELS.get(tier),
        "use_dictionary": [name for name in LOW_CARDINALITY if name.split(".")[0] in schema.names],
        "data_page_size": _PAGE_BYTES[tier],
        "write_batch_size": _PAGE_ROWS,
    }


def in_order(rows: pa.Table, spec: TableSpec) -> pa.Table:
    """Returns the rows sorted by trace; not copying what is sorted already, which long text mostly is."""
    indices = pc.sort_indices(rows, sort_keys=[("trace_id", "ascending"), (spec.order, "ascending")])
    is_sorted = np.array_equal(indices.to_numpy(), np.arange(len(indices)))
    return rows if is_sorted else rows.take(indices)


def new_name(kind: str, tier: str) -> str:
    """Returns a file name that no other process takes."""
    return f"{kind}-{tier}-{time.time_ns():020d}-{secrets.token_hex(3)}.parquet"


def read_keys(path: Path, kind: str, trace_ids: Iterable[str]) -> set[tuple[str, str]]:
    """Returns the (trace id, row key) pairs that a file holds of some traces."""
    columns = ["trace_id", TABLES[kind].key]
    table = pq.read_table(path, columns=columns, filters=[("trace_id", "in", list(trace_ids))])
    return set(zip(*(table[column].to_pylist() for column in columns), strict=True))
