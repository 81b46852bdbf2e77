"""Every paid reply, kept so that nothing is paid twice: a killed job goes on from what was answered.

A reply is found by endpoint, request digest and sample index. The sample index makes repeated draws of one request
different entries, so the store never makes a random model look deterministic.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from ...ingest.calls import ModelReply, ToolCall, Usage
from ...ingest.errors import StoreError
from ..canonical import encode_json
from .completion import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """A reply with its place among the samples of its request."""

    sample: int
    completion: Completion
    start_ns: int
    """Unix time at which it was asked for, in nanoseconds."""
    end_ns: int


Entry: TypeAlias = tuple[str, str, Sequence[StoredReply]]
"""Endpoint, request digest, and replies."""


class ReplyStore(Protocol):
    """Where replies are kept."""

    def find(self, endpoint: str, request_digest: str, first: int, count: int) -> list[StoredReply]:
        """Returns the stored samples with index in [first, first + count), in order."""
        ...

    def add(self, entries: Sequence[Entry]) -> None:
        """Keeps replies durably and all at once; StoreError when that fails."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointStats:
    """What a reply store holds of one endpoint."""

    endpoint: str
    replies: int
    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    oldest_ns: int
    newest_ns: int


class SqliteReplyStore:
    """Replies in one SQLite file; several processes may use it at once."""

    def __init__(self, path: Path | None, *, max_age_s: float | None = None) -> None:
        """Opens or makes the file; None keeps the replies in memory only. Older replies than `max_age_s` are not found
        and make way for new ones.
        """
        self._max_age_ns = None if max_age_s is None else int(max_age_s * 1e9)
        try:
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS replies (endpoint TEXT, request TEXT, sample INTEGER, reply TEXT NOT NULL,"
                " usage TEXT NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
                " PRIMARY KEY (endpoint, request, sample)) WITHOUT ROWID"
            )
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the reply store {path} cannot be opened: {error}") from error

    def find(self, endpoint: str, request_digest: str, first: int, count: int) -> list[StoredReply]:
        """Returns the stored samples with index in [first, first + count), in order."""
        rows = self._db.execute(
            "SELECT sample, reply, usage, start_ns, end_ns FROM replies"
            " WHERE endpoint = ? AND request = ? AND sample >= ? AND sample < ? AND end_ns >= ? ORDER BY sample",
            (endpoint, request_digest, first, first + count, self._oldest_ns()),
        )
        return [
            StoredReply(sample=s, completion=_decode(reply, usage), start_ns=start, end_ns=end)
            for s, reply, usage, start, end in rows
        ]

    def add(self, entries: Sequence[Entry]) -> None:
        """Keeps replies durably, in one transaction. An entry that exists already stays, unless it is too old."""
        rows = [
            (endpoint, request, r.sample, _dump(r.completion.reply), _dump(r.completion.usage), r.start_ns, r.end_ns)
            for endpoint, request, replies in entries
            for r in replies
        ]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET reply = excluded.reply,"
                f" usage = excluded.usage, start_ns = excluded.start_ns, end_ns = excluded.end_ns"
                f" WHERE end_ns < {self._oldest_ns()}",
                rows,
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"a reply cannot be stored: {error}") from error

    def stats(self) -> list[EndpointStats]:
        """Returns what is stored, an endpoint a row, most replies first."""
        rows = self._db.execute(
            "SELECT endpoint, count(*), count(DISTINCT request), sum(coalesce(usage ->> 'input_tokens', 0)),"
            " sum(coalesce(usage ->> 'output_tokens', 0)), sum(coalesce(usage ->> 'cost_usd', 0.0)), min(end_ns),"
            " max(end_ns) FROM replies GROUP BY endpoint ORDER BY count(*) DESC, endpoint"
        )
        names = EndpointStats.__dataclass_fields__
        return [EndpointStats(**dict(zip(names, row, strict=True))) for row in rows]

    def prune(self, *, before_ns: int) -> int:
        """Forgets replies that are older than a Unix time in nanoseconds; returns how many there were."""
        removed = self._db.execute("DELETE FROM replies WHERE end_ns < ?", (before_ns,)).rowcount
        self._db.execute("VACUUM")
        return removed

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def _oldest_ns(self) -> int:
        return 0 if self._max_age_ns is None else time.time_ns() - self._max_age_ns


def _dump(value: ModelReply | Usage) -> str:
    return encode_json(value).decode()


def _decode(reply: str, usage: str) -> Completion:
    fields = json.loads(reply)
    fields["tool_calls"] = tuple(ToolCall(**c) for c in fields["tool_calls"])
    return Completion(reply=ModelReply(**fields), usage=Usage(**json.loads(usage)))
