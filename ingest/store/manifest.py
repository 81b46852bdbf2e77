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
from .layout import SCHEMA_VERSION

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, tier TEXT NOT NULL,
    rows INTEGER NOT NULL, bytes INTEGER NOT NULL, min_us INTEGER, max_us INTEGER, added_ns INTEGER NOT NULL,
    is_settled INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE traces (
    kind TEXT NOT NULL, trace_id TEXT NOT NULL, file_id INTEGER NOT NULL, rows INTEGER NOT NULL,
    PRIMARY KEY (kind, trace_id, file_id)
) WITHOUT ROWID;
CREATE INDEX traces_by_file ON traces (file_id);
CREATE TABLE segments (name TEXT PRIMARY KEY, rolled INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE dropped (path TEXT PRIMARY KEY, dropped_ns INTEGER NOT NULL) WITHOUT ROWID;
"""
_MIGRATIONS = {
    1: "CREATE TABLE dropped (path TEXT PRIMARY KEY, dropped_ns INTEGER NOT NULL) WITHOUT ROWID",
    2: "ALTER TABLE files ADD COLUMN is_settled INTEGER NOT NULL DEFAULT 0",
}
"""Version → the statement that makes it the next one. Stores are brought up to date when they are opened."""
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
    is_settled: bool
    """Compaction has filled in its columns."""
    traces: Mapping[str, int]
    """Trace id → rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFile:
    """What the manifest knows of a live file, without its traces."""

    path: str
    kind: str
    tier: str
    rows: int
    bytes: int
    min_us: int | None
    max_us: int | None
    is_settled: bool


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
        manifest._bring_up_to_date(path)
        return manifest

    @classmethod
    def open(cls, path: Path) -> "Manifest":
        """Opens a manifest that exists, migrating an older one; raises StoreError for one made by a newer whyspan."""
        manifest = cls(path)
        manifest._bring_up_to_date(path)
        return manifest

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def live_files(self) -> list[LiveFile]:
        """Returns all live files, oldest first."""
        columns = ("path", "kind", "tier", "rows", "bytes", "min_us", "max_us", "is_settled")
        rows = self._query(f"SELECT {', '.join(columns)} FROM files ORDER BY id")
        return [LiveFile(**dict(zip(columns, row, strict=True))) for row in rows]

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

    def traces_in(self, path: str) -> set[str]:
        """Returns the traces that have rows in a file."""
        query = "SELECT trace_id FROM traces WHERE file_id = (SELECT id FROM files WHERE path = ?)"
        return {row[0] for row in self._query(query, (path,))}

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

    def replace(self, old: Iterable[str], new: Iterable[DataFile]) -> None:
        """Makes new files live instead of old ones, which stay on disk for those who are reading them."""
        now = time.time_ns()
        with self._transaction() as db:
            for path in old:
                db.execute("DELETE FROM traces WHERE file_id = (SELECT id FROM files WHERE path = ?)", (path,))
                db.execute("DELETE FROM files WHERE path = ?", (path,))
                db.execute("INSERT OR REPLACE INTO dropped VALUES (?, ?)", (path, now))
            for file in new:
                _insert_file(db, file)

    def dropped(self) -> dict[str, int]:
        """Returns path → when it was dropped (Unix ns), of files that are still on disk."""
        return dict(self._query("SELECT path, dropped_ns FROM dropped"))

    def forget_dropped(self, paths: Iterable[str]) -> None:
        """Forgets dropped files that have been deleted."""
        with self._transaction() as db:
            db.executemany("DELETE FROM dropped WHERE path = ?", [(path,) for path in paths])

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

    def _bring_up_to_date(self, path: Path) -> None:
        try:
            version = self._version()
        except (sqlite3.DatabaseError, IndexError) as error:
            self.close()
            raise StoreError(f"{path} is not a whyspan manifest: {error}") from error
        if version > SCHEMA_VERSION:
            self.close()
            raise StoreError(
                f"{path} has store version {version}; this whyspan reads up to {SCHEMA_VERSION}",
                hint="upgrade whyspan: pip install -U whyspan",
            )
        if version < SCHEMA_VERSION:
            self._migrate()

    def _version(self) -> int:
        return int(self._query("SELECT value FROM meta WHERE key = 'schema_version'")[0][0])

    def _migrate(self) -> None:
        with self._transaction() as db:
            # Read again under the lock: another process may have done it meanwhile.
            [version] = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
            for step in range(version, SCHEMA_VERSION):
                db.execute(_MIGRATIONS[step])
            db.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (SCHEMA_VERSION,))


def _insert_file(db: sqlite3.Connection, file: DataFile) -> None:
    row = (
        file.path, file.kind, file.tier, file.rows, file.bytes, file.min_us, file.max_us, file.is_settled,
        time.time_ns(),
    )  # fmt: skip
    columns = "path, kind, tier, rows, bytes, min_us, max_us, is_settled, added_ns"
    file_id = db.execute(f"INSERT INTO files ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid
    db.executemany(
        "INSERT INTO traces VALUES (?, ?, ?, ?)",
        [(file.kind, trace_id, file_id, rows) for trace_id, rows in file.traces.items()],
    )
