"""Results of queries as a table, JSON or CSV: one choice of options for every command that lists."""

import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from .output import write_json, write_table

if TYPE_CHECKING:
    from ..ingest.store.querying import Result

Format: TypeAlias = Literal["json", "csv"] | None
"""None is a table for people."""
ID_LENGTH = 12
"""Characters of an id in a table: enough to name it."""


def format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--json` and `--csv`; the command takes them as `output: Format`."""
    command = click.option("--csv", "output", flag_value="csv", help="Print CSV.")(command)
    return click.option("--json", "output", flag_value="json", help="Print JSON.")(command)


def write_result(result: "Result", output: Format, *, name: str = "rows", width: int = 60) -> None:
    """Prints a result; in JSON the rows stand under `name`."""
    if output == "json":
        write_json({"columns": result.columns, name: result.records()})
    elif output == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(result.columns)
        writer.writerows(result.rows)
    else:
        write_table(result.columns, result.rows, width=width)


def write_records(columns: Sequence[str], records: Sequence[Mapping[str, Any]], *, width: int = 60) -> None:
    """Prints some columns of records as a table for people: ids shortened, times to the second."""
    write_table(columns, [[_cell(record[column]) for column in columns] for record in records], width=width)


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(str(v) for v in value)
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, dict):
        return ", ".join(f"{k}={v:g}" for k, v in value.items())
    return f"{value:%Y-%m-%d %H:%M:%S}" if hasattr(value, "strftime") else value
