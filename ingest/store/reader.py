"""DuckDB over one snapshot of the manifest."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import duckdb

from .bodies import trace_of, unfold
from .nesting import NESTED_APART, look_apart
from .quoting import parquet, quote_list
from .views import FILE_VIEWS, MACROS, VIEWS

Snapshot = Mapping[str, Sequence[str]]
"""Table → paths of its files."""
_CACHED_TRACES = 64
_UNFOLD = "unfold"
_STATEMENTS = {
    _UNFOLD: "",
    NESTED_APART: "",
    **{name: f"CREATE MACRO {name}{definition}" for name, definition in MACROS.items()},
    **{view.name: view.sql for view in VIEWS},
}
"""What there is in a connection, later ones made of earlier ones; two of them are no statement."""


class Views:
    """The views over a snapshot in an in-memory DuckDB, each made when it is first named.

    DuckDB looks at every file again for each view that it makes: all of them take longer than most questions.
    """

    def __init__(self, snapshot: Snapshot, bodies: Callable[[str], Mapping[str, str]], *, sandboxed: bool) -> None:
        """Opens a connection. `bodies` gives the messages of a trace by hash.

        `sandboxed` is for SQL that comes from outside: such a connection reaches no file but those of the snapshot,
        and its configuration is locked.
        """
        self.db = duckdb.connect(":memory:")
        self._bodies = bodies
        self._made: set[str] = set()
        self.db.execute("SET TimeZone = 'UTC'")
        self.db.execute("SET parquet_metadata_cache = true")  # a dozen views look at the same files
        for kind, view in FILE_VIEWS.items():
            self.db.execute(f"CREATE VIEW {view} AS SELECT * FROM {parquet(snapshot[kind])}")
        if sandboxed:
            paths = [path for files in snapshot.values() for path in files]
            self.db.execute(f"SET allowed_paths = {quote_list(paths)}")
            self.db.execute("SET enable_external_access = false")
            self.db.execute("SET lock_configuration = true")

    def make(self, sql: str) -> None:
        """Makes the views and macros that a text names; all of them when it names none, as `SHOW TABLES` does."""
        named = _words(sql) & _STATEMENTS.keys() or set(_STATEMENTS)
        missing = []
        for name in reversed(_STATEMENTS):
            if name in named:
                named |= _words(_STATEMENTS[name])
                if name not in self._made:
                    missing.append(name)
        for name in reversed(missing):
            self._make(name)
            self._made.add(name)

    def make_all(self) -> None:
        """Makes every view."""
        self.make(" ".join(_STATEMENTS))

    def _make(self, name: str) -> None:
        if name == _UNFOLD:
            cached = lru_cache(maxsize=_CACHED_TRACES)(self._bodies)
            self.db.create_function(
                _UNFOLD, lambda folded: unfold(folded, cached(trace_of(folded))), ["VARCHAR"], "VARCHAR"
            )
        elif name == NESTED_APART:
            look_apart(self.db, FILE_VIEWS["spans"])
        else:
            self.db.execute(_STATEMENTS[name])


def _words(sql: str) -> set[str]:
    return set(re.findall(r"\w+", sql.lower()))
