"""DuckDB over one snapshot of the manifest."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import duckdb

from .bodies import trace_of, unfold
from .quoting import parquet, quote_list
from .views import FILE_VIEWS, MACROS, VIEWS

Snapshot = Mapping[str, Sequence[str]]
"""Table → paths of its files."""
_CACHED_TRACES = 64


def connect(
    snapshot: Snapshot, bodies: Callable[[str], Mapping[str, str]], *, sandboxed: bool
) -> duckdb.DuckDBPyConnection:
    """Returns an in-memory DuckDB with the views over the files of a snapshot.

    `bodies` gives the messages of a trace by hash. `sandboxed` is for SQL that comes from outside: such a connection
    reaches no file but those of the snapshot, and its configuration is locked.
    """
    db = duckdb.connect(":memory:")
    db.execute("SET TimeZone = 'UTC'")
    db.execute("SET parquet_metadata_cache = true")  # a dozen views look at the same files
    for kind, view in FILE_VIEWS.items():
        db.execute(f"CREATE VIEW {view} AS SELECT * FROM {parquet(snapshot[kind])}")
    cached = lru_cache(maxsize=_CACHED_TRACES)(bodies)
    db.create_function("unfold", lambda folded: unfold(folded, cached(trace_of(folded))), ["VARCHAR"], "VARCHAR")
    for statement in (*MACROS, *(view.sql for view in VIEWS)):
        db.execute(statement)
    if sandboxed:
        db.execute(f"SET allowed_paths = {quote_list([path for files in snapshot.values() for path in files])}")
        db.execute("SET enable_external_access = false")
        db.execute("SET lock_configuration = true")
    return db
