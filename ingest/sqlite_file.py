"""A small SQLite file in a store: what several processes keep beside the spans."""

import sqlite3
from pathlib import Path

from .errors import StoreError


def open_sqlite(path: Path, table: str) -> sqlite3.Connection:
    """Opens a file, making it and its table when there is none; each statement is durable on its own.

    `table` is a `CREATE TABLE IF NOT EXISTS` statement. Raises StoreError for a file that cannot be used.
    """
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=30)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(table)
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} cannot be used: {error}") from error
    return db
