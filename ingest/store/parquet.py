"""Arrow tables ⇄ the Parquet files of the store."""

import secrets
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

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


def write_file(layout: Layout, kind: str, table: pa.Table, *, tier: str, level: int = 1) -> DataFile:
    """Writes rows, sorted by trace, as a durable file that no manifest names yet; returns its manifest entry.

    `level` is the zstd level: files that will soon be merged are not worth more than 1.
    """
    ordered = table.sort_by([("trace_id", "ascending"), (TABLES[kind].order, "ascending")])
    name = f"{kind}-{tier}-{time.time_ns():020d}-{secrets.token_hex(3)}.parquet"
    temporary, final = layout.data / f".{name}.tmp", layout.data / name
    pq.write_table(
        ordered,
        temporary,
        compression="zstd",
        compression_level=level,
        row_group_size=_rows_per_group(ordered),
        use_dictionary=_dictionary_columns(table.schema),
        data_page_size=1 << 20,
    )
    publish(temporary, final)
    bounds = pc.min_max(ordered[TABLES[kind].time].cast(pa.int64())).as_py()
    return DataFile(
        path=str(final.relative_to(layout.root)),
        kind=kind,
        tier=tier,
        rows=ordered.num_rows,
        bytes=final.stat().st_size,
        min_us=bounds["min"],
        max_us=bounds["max"],
        traces=Counter(id for id in ordered["trace_id"].to_pylist() if id is not None),
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
