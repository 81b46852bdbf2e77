"""Writes the replies that arrive together in one transaction, so that keeping them costs little per call."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ingest.errors import StoreError
from .reply_store import Entry, ReplyStore, StoredReply


@dataclass
class GroupCommit:
    """Collects what is added within one turn of the event loop, and stores it at the turn's end or at `flush`."""

    store: ReplyStore
    _entries: list[Entry] = field(default_factory=list)
    _is_due: bool = False
    _failure: StoreError | None = None

    def add(self, endpoint: str, request_digest: str, replies: Sequence[StoredReply]) -> None:
        """Takes replies; they are durable once `flush` has returned."""
        self._entries.append((endpoint, request_digest, replies))
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._write)

    def flush(self) -> None:
        """Stores what is not stored yet; StoreError when that, or an earlier turn's, failed."""
        self._write()
        if self._failure is not None:
            raise self._failure

    def _write(self) -> None:
        entries, self._entries, self._is_due = self._entries, [], False
        if not entries:
            return
        try:
            self.store.add(entries)
        except StoreError as error:
            self._failure = error
