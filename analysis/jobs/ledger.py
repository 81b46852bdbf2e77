"""The state of jobs in one SQLite file: runs, their items, what was paid, how far a job has come.

A run's items are written down before the first of them is worked on, so that a run that dies goes on with the same
list. What is paid is booked while it is paid: a killed run's spending counts against the month.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from ...ingest.calls import Json
from ...ingest.errors import StoreError
from ...ingest.spans import SpanId, TraceId
from ..replay.budget import Spend
from ..selection import Decision

LEDGER_FILE = "jobs.sqlite"

_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, job TEXT NOT NULL, started_ns INTEGER NOT NULL, ended_ns INTEGER, status TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0, cost_usd REAL NOT NULL DEFAULT 0,
    complete_us INTEGER, cancelled INTEGER NOT NULL DEFAULT 0, note TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS runs_of_job ON runs (job, started_ns);
CREATE TABLE IF NOT EXISTS items (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, job TEXT NOT NULL, trace_id TEXT NOT NULL, span_id TEXT NOT NULL,
    event TEXT, status TEXT NOT NULL, outcome TEXT, PRIMARY KEY (run_id, position)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_of_job ON items (job, trace_id, span_id);
CREATE TABLE IF NOT EXISTS spending (
    job TEXT NOT NULL, month TEXT NOT NULL, calls INTEGER NOT NULL, cost_usd REAL NOT NULL,
    PRIMARY KEY (job, month)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS watermarks (job TEXT PRIMARY KEY, started_us INTEGER NOT NULL) WITHOUT ROWID;
"""


class RunStatus(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    DONE = "done"
    BUDGET = "budget"
    """A cap was reached; the next run takes on what is left."""
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """Stopped by Ctrl-C; the next run continues it."""
    FAILED = "failed"
    """The model or another upstream failed; the next run tries again."""


class ItemStatus(StrEnum):
    """How a decision of a run stands."""

    WAITING = "waiting"
    DONE = "done"
    LINKED = "linked"
    SKIPPED = "skipped"
    """It cannot be replayed."""
    FAILED = "failed"


HANDLED = (ItemStatus.DONE, ItemStatus.LINKED, ItemStatus.SKIPPED)
"""What a later run does not take on again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a job."""

    run_id: str
    job: str
    started_ns: int
    ended_ns: int | None
    status: RunStatus
    calls: int
    tokens: int
    cost_usd: float
    is_cancelled: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One decision of a run."""

    position: int
    decision: Decision
    status: ItemStatus
    outcome: dict[str, Json]
    """What came of it; empty while it waits."""


class Ledger:
    """The open file; several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        try:
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_TABLES)
        except sqlite3.Error as error:
            raise StoreError(f"the job ledger {path} cannot be opened: {error}") from error

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def start(self, run_id: str, job: str, decisions: Sequence[Decision], complete_to: datetime | None) -> Run:
        """Writes down a new run and its items."""
        with self._transaction():
            self._db.execute(
                "INSERT INTO runs (run_id, job, started_ns, status, complete_us) VALUES (?, ?, ?, ?, ?)",
                (run_id, job, time.time_ns(), RunStatus.RUNNING, _to_us(complete_to) if complete_to else None),
            )
            self._db.executemany(
                "INSERT INTO items (run_id, position, job, trace_id, span_id, event, status)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (run_id, position, job, d.trace_id, d.span_id, d.event, ItemStatus.WAITING)
                    for position, d in enumerate(decisions)
                ],
            )
        return self.run(run_id)

    def reopen(self, run_id: str) -> Run:
        """Marks a run that had stopped as running again."""
        self._db.execute("UPDATE runs SET status = ?, ended_ns = NULL WHERE run_id = ?", (RunStatus.RUNNING, run_id))
        return self.run(run_id)

    def run(self, run_id: str) -> Run:
        """Returns a run as it stands."""
        return next(self._runs("run_id = ?", (run_id,)))

    def runs(self, job: str | None = None, *, limit: int = 50) -> list[Run]:
        """Returns the runs of a job, or of all jobs, the latest first."""
        condition, values = ("job = ?", (job,)) if job else ("true", ())
        return list(self._runs(condition, values, limit=limit))

    def items(self, run_id: str) -> list[Item]:
        """Returns the items of a run in the order of the selection."""
        rows = self._db.execute(
            "SELECT position, trace_id, span_id, event, status, outcome FROM items WHERE run_id = ? ORDER BY position",
            (run_id,),
        )
        return [
            Item(
                position=position,
                decision=Decision(trace_id=TraceId(trace_id), span_id=SpanId(span_id), event=event),
                status=ItemStatus(status),
                outcome=json.loads(outcome) if outcome else {},
            )
            for position, trace_id, span_id, event, status, outcome in rows
        ]

    def handled(self, job: str) -> set[tuple[str, str]]:
        """Returns the decisions that runs of a job have dealt with."""
        marks = ",".join("?" * len(HANDLED))
        query = f"SELECT trace_id, span_id FROM items WHERE job = ? AND status IN ({marks})"
        return set(self._db.execute(query, (job, *HANDLED)).fetchall())

    def settle(self, run_id: str, results: Iterable[tuple[int, ItemStatus, dict[str, Json]]]) -> None:
        """Writes down what came of items."""
        rows = [(status, json.dumps(outcome), run_id, position) for position, status, outcome in results]
        with self._transaction():
            self._db.executemany("UPDATE items SET status = ?, outcome = ? WHERE run_id = ? AND position = ?", rows)

    def book(self, run: Run, calls: int, spend: Spend) -> None:
        """Counts what has been paid, for the run and for the month it began in."""
        with self._transaction():
            self._db.execute(
                "UPDATE runs SET calls = calls + ?, tokens = tokens + ?, cost_usd = cost_usd + ? WHERE run_id = ?",
                (calls, spend.tokens, spend.cost_usd, run.run_id),
            )
            self._db.execute(
                "INSERT INTO spending VALUES (?, ?, ?, ?) ON CONFLICT (job, month)"
                " DO UPDATE SET calls = calls + excluded.calls, cost_usd = cost_usd + excluded.cost_usd",
                (run.job, month_of(run.started_ns), calls, spend.cost_usd),
            )

    def spent(self, job: str, month: str) -> tuple[int, float]:
        """Returns the calls and US dollars that a job has paid in a month such as `2026-11`."""
        query = "SELECT calls, cost_usd FROM spending WHERE job = ? AND month = ?"
        row: tuple[int, float] | None = self._db.execute(query, (job, month)).fetchone()
        return row or (0, 0.0)

    def end(self, run_id: str, status: RunStatus, note: str = "") -> Run:
        """Ends a run."""
        self._db.execute(
            "UPDATE runs SET status = ?, note = ?, ended_ns = ? WHERE run_id = ?",
            (status, note, time.time_ns(), run_id),
        )
        return self.run(run_id)

    def cancel(self, run_id: str) -> None:
        """Asks the process that works on a run to stop."""
        self._db.execute("UPDATE runs SET cancelled = 1 WHERE run_id = ?", (run_id,))

    def watermark(self, job: str) -> datetime | None:
        """Returns the time up to which a job has dealt with all decisions; None before its first complete run."""
        row = self._db.execute("SELECT started_us FROM watermarks WHERE job = ?", (job,)).fetchone()
        return datetime.fromtimestamp(row[0] / 1e6, UTC).replace(tzinfo=None) if row else None

    def advance(self, run: Run) -> None:
        """Moves the watermark to where a run, all of whose items are dealt with, has come; it never goes back."""
        self._db.execute(
            "INSERT INTO watermarks SELECT job, complete_us FROM runs WHERE run_id = ? AND complete_us IS NOT NULL"
            " ON CONFLICT (job) DO UPDATE SET started_us = max(started_us, excluded.started_us)",
            (run.run_id,),
        )

    def _runs(self, condition: str, values: Sequence[Any], *, limit: int = 1) -> Iterator[Run]:
        query = (
            "SELECT run_id, job, started_ns, ended_ns, status, calls, tokens, cost_usd, cancelled, note FROM runs "
            f"WHERE {condition} ORDER BY started_ns DESC LIMIT {limit}"
        )
        for run_id, job, started, ended, status, calls, tokens, cost, cancelled, note in self._db.execute(
            query, values
        ):
            yield Run(
                run_id=run_id, job=job, started_ns=started, ended_ns=ended, status=RunStatus(status), calls=calls,
                tokens=tokens, cost_usd=cost, is_cancelled=bool(cancelled), note=note,
            )  # fmt: skip

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def month_of(time_ns: int) -> str:
    """Returns the calendar month (UTC) of a Unix time, such as `2026-11`."""
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%Y-%m}"


def _to_us(time: datetime) -> int:
    return round(time.replace(tzinfo=UTC).timestamp() * 1e6)
