"""What is to be sent, kept in the store until the other side has it: one SQLite file.

A delivery stays `waiting` until the other side has taken it. One that is refused for good is `refused`, with the
answer; it is tried again when its content changes. Keys are never in here.
"""

import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from ...ingest.sqlite_file import open_sqlite
from .delivery import Delivery

FILE_NAME = "outbox.sqlite"
_TABLE = """
CREATE TABLE IF NOT EXISTS deliveries (
    target TEXT NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL,
    headers TEXT NOT NULL, body BLOB NOT NULL, optional INTEGER NOT NULL, state TEXT NOT NULL, error TEXT NOT NULL,
    changed_ns INTEGER NOT NULL, PRIMARY KEY (target, id)
) WITHOUT ROWID
"""
_COLUMNS = "id, method, path, headers, body, optional"


class State(StrEnum):
    """How far a delivery is."""

    WAITING = "waiting"
    SENT = "sent"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What `add` did."""

    new: int
    """To be sent: new, changed, or still waiting."""
    known: int
    """The other side has them."""


class Outbox:
    """The deliveries of a store, for all targets."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @classmethod
    def open(cls, store: Path) -> Self:
        """Opens the outbox of a store, making it when there is none."""
        return cls(open_sqlite(store / FILE_NAME, _TABLE))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def add(self, target: str, deliveries: Iterable[Delivery]) -> Added:
        """Keeps deliveries to be sent; one that was sent with the same content is left alone."""
        new = known = 0
        self._db.execute("BEGIN IMMEDIATE")
        for delivery in deliveries:
            if self._is_sent(target, delivery):
                known += 1
                continue
            new += 1
            headers = orjson.dumps(dict(delivery.headers)).decode()
            row = (target, delivery.id, delivery.digest, delivery.method, delivery.path, headers, delivery.body)
            self._db.execute(
                "INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?)",
                (*row, delivery.is_optional, State.WAITING, time.time_ns()),
            )
        self._db.execute("COMMIT")
        return Added(new=new, known=known)

    def _is_sent(self, target: str, delivery: Delivery) -> bool:
        query = "SELECT 1 FROM deliveries WHERE target = ? AND id = ? AND digest = ? AND state = ?"
        return self._db.execute(query, (target, delivery.id, delivery.digest, State.SENT)).fetchone() is not None

    def waiting(self, target: str) -> list[Delivery]:
        """Returns what is to be sent to a target, of this and of earlier runs, the oldest first."""
        query = f"SELECT {_COLUMNS} FROM deliveries WHERE target = ? AND state = ? ORDER BY changed_ns, id"
        return [
            Delivery(
                id=id, method=method, path=path, headers=orjson.loads(headers), body=body, is_optional=bool(optional)
            )
            for id, method, path, headers, body, optional in self._db.execute(query, (target, State.WAITING))
        ]

    def mark(self, target: str, delivery: Delivery, state: State, error: str = "") -> None:
        """Keeps what became of a delivery, durably."""
        self._db.execute(
            "UPDATE deliveries SET state = ?, error = ?, changed_ns = ? WHERE target = ? AND id = ? AND digest = ?",
            (state, error, time.time_ns(), target, delivery.id, delivery.digest),
        )
