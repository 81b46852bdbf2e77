"""Every paid reply, kept so that nothing is paid twice: a killed job goes on from what was answered.

A reply is found by endpoint, request digest and sample index. The sample index makes repeated draws of one request
different entries, so the store never makes a random model look deterministic.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from ...ingest.calls import ModelReply, ToolCall, Usage
from ...ingest.errors import StoreError
from .completion import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """A reply with its place among the samples of its request."""

    sample: int
    completion: Completion
    start_ns: int
    """Unix time at which it was asked for, in nanoseconds."""
    end_ns: int


class ReplyStore(Protocol):
    """Where replies are kept."""

    def find(self, endpoint: str, request_digest: str, first: int, count: int) -> list[StoredReply]:
        """Returns the stored samples with index in [first, first + count), in order."""
        ...

    def add(self, endpoint: str, request_digest: str, replies: Sequence[StoredReply]) -> None:
        """Keeps replies durably; an entry that exists already stays."""
        ...


class SqliteReplyStore:
    """Replies in one SQLite file; several processes may use it at once."""

    def __init__(self, path: Path | None) -> None:
        """Opens or makes the file; None keeps the replies in memory only."""
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
            " WHERE endpoint = ? AND request = ? AND sample >= ? AND sample < ? ORDER BY sample",
            (endpoint, request_digest, first, first + count),
        )
        return [
            StoredReply(sample=s, completion=_decode(reply, usage), start_ns=start, end_ns=end)
            for s, reply, usage, start, end in rows
        ]

    def add(self, endpoint: str, request_digest: str, replies: Sequence[StoredReply]) -> None:
        """Keeps replies durably; an entry that exists already stays."""
        rows = [
            (
                endpoint,
                request_digest,
                r.sample,
                _dump(r.completion.reply),
                _dump(r.completion.usage),
                r.start_ns,
                r.end_ns,
            )
            for r in replies
        ]
        try:
            self._db.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise StoreError(f"a reply cannot be stored: {error}") from error

    def close(self) -> None:
        """Closes the file."""
        self._db.close()


def _dump(value: ModelReply | Usage) -> str:
    return json.dumps(asdict(value), ensure_ascii=True)


def _decode(reply: str, usage: str) -> Completion:
    fields = json.loads(reply)
    fields["tool_calls"] = tuple(ToolCall(**c) for c in fields["tool_calls"])
    return Completion(reply=ModelReply(**fields), usage=Usage(**json.loads(usage)))
