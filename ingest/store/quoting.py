"""Text inside SQL where DuckDB takes no parameters."""

from collections.abc import Iterable
from pathlib import Path


def quote(text: str | Path) -> str:
    """Returns an SQL string literal."""
    return "'" + str(text).replace("'", "''") + "'"


def quote_list(texts: Iterable[str | Path]) -> str:
    """Returns an SQL list of string literals."""
    return "[" + ", ".join(map(quote, texts)) + "]"


def parquet(paths: Iterable[str | Path]) -> str:
    """Returns the table function that reads files, filling columns that older ones lack."""
    return f"read_parquet({quote_list(paths)}, union_by_name = true)"
