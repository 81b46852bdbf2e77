"""SELECTs of a user over the views, without a way to anything else."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb

from ..errors import UsageError
from .reader import Views
from .store import Store

if TYPE_CHECKING:
    import pyarrow as pa

Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any]
"""Values of `$name`, or of each `?`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a query gives."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def records(self) -> list[dict[str, Any]]:
        """Returns the rows as column → value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Sandbox:
    """Several queries over one moment of the store, with room for what they have in common.

    Its methods raise UsageError, with DuckDB's suggestion, for a query that is wrong, is no SELECT, or reaches for
    files.
    """

    def __init__(self, views: Views) -> None:
        self._views = views
        self._db = views.db

    def select(self, query: str, parameters: Parameters = ()) -> Result:
        """Runs one SELECT statement."""
        with self._ready(query) as statement:
            result = self._db.execute(statement, parameters)
            columns = tuple(column[0] for column in result.description or ())
            return Result(columns=columns, rows=tuple(result.fetchall()))

    def keep(self, name: str, query: str, parameters: Parameters = ()) -> None:
        """Keeps what a SELECT gives as a table for the queries that follow."""
        with self._ready(query):
            self._db.execute(f"CREATE TEMP TABLE {name} AS {query}", parameters)

    def table(self, query: str) -> "pa.Table":
        """Runs one SELECT statement and returns what it gives as an Arrow table."""
        with self._ready(query):
            return self._db.sql(query).to_arrow_table()

    @contextmanager
    def _ready(self, query: str) -> Iterator[duckdb.Statement]:
        """Yields the statement once everything that it names is there."""
        with _explained():
            statements = self._db.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError("one SELECT statement is expected", hint="the store is read-only")
            self._views.make(query)
            yield statements[0]


@contextmanager
def open_sandbox(store: Store) -> Iterator[Sandbox]:
    """Opens the views of a store to queries that come from outside."""
    views = store.views(sandboxed=True)
    with views.db:
        yield Sandbox(views)


def run_query(store: Store, query: str, parameters: Parameters = ()) -> Result:
    """Runs one SELECT statement over the views of a store; see `Sandbox`."""
    with open_sandbox(store) as sandbox:
        return sandbox.select(query, parameters)


def write_parquet(store: Store, query: str, path: Path) -> None:
    """Writes what one SELECT statement gives to a Parquet file; see `Sandbox`."""
    import pyarrow.parquet as pq  # a fifth of a second that no other query should take

    with open_sandbox(store) as sandbox:
        table = sandbox.table(query)
    try:
        pq.write_table(table, path, compression="zstd")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise UsageError(f"SQL: {str(error).splitlines()[0]}", hint=_hint(error)) from error


def _hint(error: Exception) -> str:
    """Returns DuckDB's suggestion, else how to see what there is."""
    found = (line for line in str(error).splitlines() if line.startswith(("Did you mean", "Candidate")))
    return next(found, "`DESCRIBE runs` lists the columns of a view")
