"""One SELECT of a user over the views, without a way to anything else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from ..errors import UsageError
from .store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a query gives."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def records(self) -> list[dict[str, Any]]:
        """Returns the rows as column → value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def run_query(store: Store, query: str, parameters: Mapping[str, Any] | Sequence[Any] = ()) -> Result:
    """Runs one SELECT statement; `$name` in it takes its value from `parameters`.

    Raises UsageError, with DuckDB's suggestion, for a query that is wrong, is no SELECT, or reaches for files.
    """
    with store.connect(sandboxed=True) as db:
        try:
            statements = db.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError("one SELECT statement is expected", hint="the store is read-only")
            result = db.execute(statements[0], parameters)
            columns = tuple(column[0] for column in result.description or ())
            return Result(columns=columns, rows=tuple(result.fetchall()))
        except duckdb.Error as error:
            raise UsageError(f"SQL: {str(error).splitlines()[0]}", hint=_hint(error)) from error


def _hint(error: Exception) -> str:
    """Returns DuckDB's suggestion, else how to see what there is."""
    found = (line for line in str(error).splitlines() if line.startswith(("Did you mean", "Candidate")))
    return next(found, "`DESCRIBE runs` lists the columns of a view")
