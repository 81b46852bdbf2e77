"""Writes the replies that arrive together in one transaction, so that keeping them costs little per call."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ingest.errors import StoreError
from .reply_store import ReplyStore, StoredReply


@dataclass
class GroupCommit:
    """Collects what is added within one turn of the event loop; `add` returns once it is stored."""

    store: ReplyStore
    _entries: list[tuple[str, str, Sequence[StoredReply]]] = field(default_factory=list)
    _stored: asyncio.Future[None] | None = None

    async def add(self, endpoint: str, request_digest: str, replies: Sequence[StoredReply]) -> None:
        """Keeps replies durably; StoreError when that fails."""
        self._entries.append((endpoint, request_digest, replies))
        if self._stored is None:
            loop = asyncio.get_running_loop()
            self._stored = loop.create_future()
            loop.call_soon(self._flush)
        await asyncio.shield(self._stored)

    def _flush(self) -> None:
        entries, self._entries = self._entries, []
        stored, self._stored = self._stored, None
        assert stored is not None  # `add` made it before it asked for the flush
        try:
            self.store.add(entries)
        except StoreError as error:
            stored.set_exception(error)
        else:
            stored.set_result(None)
