"""What compaction writes into the rows of `spans`: which of two nested model calls counts, see `nesting`."""

from collections.abc import Iterable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from .layout import Layout, schema_name
from .nesting import APART, NESTED, with_nesting
from .quoting import parquet, quote

MEMORY_LIMIT = "256MB"
"""What looking for nested calls may use; beyond it, DuckDB spills to disk."""


class Nesting:
    """The nested calls of the files that are being merged."""

    def __init__(self, layout: Layout, paths: Iterable[Path], condition: str) -> None:
        """Looks at the rows of some files that meet an SQL condition, if there is one."""
        # The file without rows has all columns, which older files may lack.
        source = parquet([layout.data / schema_name("spans"), *paths])
        rows = f"(SELECT * FROM {source} WHERE {condition or 'true'})"
        query = f"""
            SELECT trace_id, trace_id || span_id AS id, {NESTED}, {APART} FROM ({with_nesting(rows)})
            WHERE {NESTED} OR {APART} ORDER BY trace_id"""
        settings = {"memory_limit": MEMORY_LIMIT, "threads": "1", "temp_directory": str(layout.root / "tmp")}
        with duckdb.connect(":memory:") as db:
            for name, value in settings.items():
                db.execute(f"SET {name} = {quote(value)}")
            self._marks = db.sql(query).to_arrow_table()

    def fill(self, rows: pa.Table) -> pa.Table:
        """Returns the rows (sorted by trace) with their two columns filled in."""
        first, last = rows["trace_id"][0], rows["trace_id"][-1]
        traces = self._marks["trace_id"]
        marks = self._marks.filter(pc.and_(pc.greater_equal(traces, first), pc.less_equal(traces, last)))
        ids = pc.binary_join_element_wise(rows["trace_id"], rows["span_id"], "")
        for name in (NESTED, APART):
            marked = pc.is_in(ids, value_set=marks["id"].filter(marks[name]).combine_chunks())
            rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), marked)
        return rows
