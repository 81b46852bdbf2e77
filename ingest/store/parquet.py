"""Arrow tables ⇄ the Parquet files of the store."""

import secrets
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .durable import publish
from .layout import Layout
from .manifest import DataFile
from .schema import LOW_CARDINALITY, TABLES

_MAX_ROWS = 16_384
_GROUP_BYTES = 32 << 20
"""Rows per group are bounded by both: looking up one trace reads whole row groups."""


def write_file(layout: Layout, kind: str, table: pa.Table, *, tier: str, name: str | None = None) -> DataFile:
    """Writes rows, sorted by trace, as a durable file that no manifest names yet; returns its manifest entry."""
    ordered = _sorted(table, TABLES[kind].order)
    final = layout.data / (name or new_name(kind, tier))
    temporary = layout.data / f".{final.name}.tmp"
    pq.write_table(
        ordered,
        temporary,
        compression="zstd",
        compression_level=1,  # hot files are soon merged, and then compressed with more care
        row_group_size=_rows_per_group(ordered),
        use_dictionary=_dictionary_columns(table.schema),
        data_page_size=1 << 20,
    )
    publish(temporary, final)
    return describe(layout, kind, final, tier=tier)


def _sorted(table: pa.Table, order: str) -> pa.Table:
    """Returns the rows sorted by trace; not copying what is sorted already, which long text mostly is."""
    indices = pc.sort_indices(table, sort_keys=[("trace_id", "ascending"), (order, "ascending")])
    is_sorted = np.array_equal(indices.to_numpy(), np.arange(len(indices)))
    return table if is_sorted else table.take(indices)


def new_name(kind: str, tier: str) -> str:
    """Returns a file name that no other process takes."""
    return f"{kind}-{tier}-{time.time_ns():020d}-{secrets.token_hex(3)}.parquet"


def describe(layout: Layout, kind: str, path: Path, *, tier: str, is_settled: bool = False) -> DataFile:
    """Returns the manifest entry of a file."""
    time_column = TABLES[kind].time
    table = pq.read_table(path, columns=["trace_id", time_column])
    bounds = pc.min_max(table[time_column].cast(pa.int64())).as_py()
    counts = pc.value_counts(table["trace_id"].drop_null()).to_pylist()
    return DataFile(
        path=str(path.relative_to(layout.root)),
        kind=kind,
        tier=tier,
        rows=table.num_rows,
        bytes=path.stat().st_size,
        min_us=bounds["min"],
        max_us=bounds["max"],
        is_settled=is_settled,
        traces={count["values"]: count["counts"] for count in counts},
    )


def read_keys(path: Path, kind: str, trace_ids: Iterable[str]) -> set[tuple[str, str]]:
    """Returns the (trace id, row key) pairs that a file holds of some traces."""
    columns = ["trace_id", TABLES[kind].key]
    table = pq.read_table(path, columns=columns, filters=[("trace_id", "in", list(trace_ids))])
    return set(zip(*(table[column].to_pylist() for column in columns), strict=True))


def _rows_per_group(table: pa.Table) -> int:
    average: int = max(1, table.nbytes // max(1, table.num_rows))
    return max(256, min(_MAX_ROWS, _GROUP_BYTES // average))


def _dictionary_columns(schema: pa.Schema) -> list[str]:
    return [name for name in LOW_CARDINALITY if name.split(".")[0] in schema.names]
