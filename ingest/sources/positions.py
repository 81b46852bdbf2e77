"""How far each import has come: one SQLite file in the store folder."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from ..sqlite_file import open_sqlite

FILE_NAME = "imports.sqlite"
_TABLE = "CREATE TABLE IF NOT EXISTS positions (key TEXT PRIMARY KEY, position TEXT NOT NULL)"


class Positions:
    """Key of an import → the position to go on from."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @classmethod
    def open(cls, store: Path) -> Self:
        """Opens the file of a store, making it when there is none."""
        return cls(open_sqlite(store / FILE_NAME, _TABLE))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Returns the position of an import; None when there was none."""
        with closing(self._db.execute("SELECT position FROM positions WHERE key = ?", (key,))) as rows:
            row = rows.fetchone()
        return orjson.loads(row[0]) if row else None

    def put(self, key: str, position: Mapping[str, Any]) -> None:
        """Keeps a position, durably."""
        self._db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?)", (key, orjson.dumps(position).decode()))
