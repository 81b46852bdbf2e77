"""The manifest: one SQLite file that says which Parquet files are live and how far each WAL segment is rolled.

Both change in one transaction, which is what makes rolling exactly-once: after a crash at any point a frame is either
still to be rolled or in a live file, never both and never neither. Readers take the file list from one snapshot.
"""

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StoreError
from .schema import SCHEMA_VERSION

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, tier TEXT NOT NULL,
    rows INTEGER NOT NULL, bytes INTEGER NOT NULL, min_us INTEGER, max_us INTEGER, added_ns INTEGER NOT NULL
);
CREATE TABLE traces (
    kind TEXT NOT NULL, trace_id TEXT NOT NULL, file_id INTEGER NOT NULL, rows INTEGER NOT NULL,
    PRIMARY KEY (kind, trace_id, file_id)
) WITHOUT ROWID;
CREATE INDEX traces_by_file ON traces (file_id);
CREATE TABLE segments (name TEXT PRIMARY KEY, rolled INTEGER NOT NULL) WITHOUT ROWID;
"""
_CHUNK = 500
"""Parameters per statement, below SQLite's oldest limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A live Parquet file."""

    path: str
    """Relative to the store."""
    kind: str
    """The table it belongs to."""
    tier: str
    """`schema` (no rows, fixes the columns), `hot`, `hour` or `day`."""
    rows: int
    bytes: int
    min_us: int | None
    """Earliest start (Unix µs) in it, None when it has no rows."""
    max_us: int | None
    traces: Mapping[str, int]
    """Trace id → rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What one roll changes."""

    files: Sequence[DataFile]
    rolled: Mapping[str, int]
    """Segment → offset up to which its frames are in live files."""
    next_seq: int


class Manifest:
    """An open manifest. Safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise StoreError(f"{path} is not a whyspan manifest: {error}") from error

    @classmethod
    def create(cls, path: Path) -> "Manifest":
        """Opens the manifest, making its tables when it is new (or left half-made by a killed process)."""
        manifest = cls(path)
        with manifest._transaction() as db:
            if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                db.execute("INSERT INTO meta VALUES ('schema_version', ?), ('next_seq', 1)", (SCHEMA_VERSION,))
        manifest._check_version(path)
        return manifest

    @classmethod
    def open(cls, path: Path) -> "Manifest":
        """Opens a manifest that exists; raises StoreError for one made by a newer whyspan."""
        manifest = cls(path)
        manifest._check_version(path)
        return manifest

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def files(self, kind: str) -> list[str]:
        """Returns the live files of a table, one consistent snapshot, the schema file first."""
        rows = self._query("SELECT path FROM files WHERE kind = ? ORDER BY tier = 'schema' DESC, id", (kind,))
        return [row[0] for row in rows]

    def snapshot(self) -> dict[str, list[str]]:
        """Returns table → live files, all from one moment."""
        snapshot: dict[str, list[str]] = {}
        for kind, path in self._query("SELECT kind, path FROM files ORDER BY tier = 'schema' DESC, id"):
            snapshot.setdefault(kind, []).append(path)
        return snapshot

    def files_of(self, kind: str, trace_ids: Iterable[str]) -> dict[str, list[str]]:
        """Returns file → those of the traces that have rows in it."""
        ids, found = list(trace_ids), dict[str, list[str]]()
        for start in range(0, len(ids), _CHUNK):
            chunk = ids[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            query = (
                "SELECT f.path, t.trace_id FROM traces t JOIN files f ON f.id = t.file_id "
                f"WHERE t.kind = ? AND t.trace_id IN ({marks}) ORDER BY f.id"
            )
            for path, trace_id in self._query(query, (kind, *chunk)):
                found.setdefault(path, []).append(trace_id)
        return found

    def trace_ids(self, kind: str) -> list[str]:
        """Returns the traces that have rows in a table, sorted."""
        return [
            row[0] for row in self._query("SELECT DISTINCT trace_id FROM traces WHERE kind = ? ORDER BY 1", (kind,))
        ]

    def rolled(self) -> dict[str, int]:
        """Returns segment → offset up to which it is rolled."""
        return dict(self._query("SELECT name, rolled FROM segments"))

    def next_seq(self) -> int:
        """Returns the sequence number that the next row gets."""
        return int(self._query("SELECT value FROM meta WHERE key = 'next_seq'")[0][0])

    def commit(self, change: Commit) -> None:
        """Makes files live and their WAL frames rolled, in one transaction."""
        with self._transaction() as db:
            for file in change.files:
                _insert_file(db, file)
            db.executemany("INSERT OR REPLACE INTO segments VALUES (?, ?)", change.rolled.items())
            db.execute("UPDATE meta SET value = ? WHERE key = 'next_seq'", (change.next_seq,))

    def forget_segments(self, names: Iterable[str]) -> None:
        """Drops the offsets of segments that have been deleted."""
        with self._transaction() as db:
            db.executemany("DELETE FROM segments WHERE name = ?", [(name,) for name in names])

    def _query(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, parameters).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _check_version(self, path: Path) -> None:
        try:
            version = int(self._query("SELECT value FROM meta WHERE key = 'schema_version'")[0][0])
        except (sqlite3.DatabaseError, IndexError) as error:
            self.close()
            raise StoreError(f"{path} is not a whyspan manifest: {error}") from error
        if version > SCHEMA_VERSION:
            self.close()
            raise StoreError(
                f"{path} has store version {version}; this whyspan reads up to {SCHEMA_VERSION}",
                hint="upgrade whyspan: pip install -U whyspan",
            )


def _insert_file(db: sqlite3.Connection, file: DataFile) -> None:
    row = (file.path, file.kind, file.tier, file.rows, file.bytes, file.min_us, file.max_us, time.time_ns())
    columns = "path, kind, tier, rows, bytes, min_us, max_us, added_ns"
    file_id = db.execute(f"INSERT INTO files ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid
    db.executemany(
        "INSERT INTO traces VALUES (?, ?, ?, ?)",
        [(file.kind, trace_id, file_id, rows) for trace_id, rows in file.traces.items()],
    )
