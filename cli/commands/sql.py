"""`whyspan sql`: queries over the views of the store."""

import csv
import sys
from typing import TYPE_CHECKING, Any

import click

from ...ingest.errors import UsageError
from ..output import Session, write_json, write_table

if TYPE_CHECKING:
    import duckdb


@click.command(epilog='Example: whyspan sql "SELECT model, count(*), sum(cost_usd) FROM llm_calls GROUP BY model"')
@click.argument("query")
@click.option("--json", "output", flag_value="json", help="Print JSON.")
@click.option("--csv", "output", flag_value="csv", help="Print CSV.")
@click.pass_obj
def command(session: Session, query: str, output: str | None) -> None:
    """Query the store with SQL (DuckDB's), read-only.

    \b
    Views: runs, llm_calls, tool_calls, decisions, trials, claims, spans, log_records.
    attr(attributes, 'key') gives an attribute as text.
    """
    with session.open_store() as store, store.connect(sandboxed=True) as db:
        columns, rows = _run(db, query)
    if output == "json":
        write_json({"columns": columns, "rows": [dict(zip(columns, row, strict=True)) for row in rows]})
    elif output == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        write_table(columns, rows)


def _run(db: "duckdb.DuckDBPyConnection", query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    import duckdb

    try:
        statements = db.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UsageError("one SELECT statement is expected", hint="the store is read-only")
        result = db.execute(statements[0])
        return [column[0] for column in result.description or ()], result.fetchall()
    except duckdb.Error as error:
        raise UsageError(f"SQL: {_first_line(error)}", hint=_hint(error)) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _hint(error: Exception) -> str:
    """Returns DuckDB's suggestion, else how to see what there is."""
    found = (line for line in str(error).splitlines() if line.startswith(("Did you mean", "Candidate")))
    return next(found, "`DESCRIBE runs` lists the columns of a view")
