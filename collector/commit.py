"""Group commit: all requests that wait while the disk syncs share the next sync."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..ingest.errors import StoreError
from ..ingest.store.wal import Frame, FrameKind, WalWriter


class GroupCommit:
    """Appends to the log from one event loop; `commit` returns once the payload is durable."""

    def __init__(self, writer: WalWriter, observe_sync_s: Callable[[float], None]) -> None:
        self._writer = writer
        self._observe_sync_s = observe_sync_s
        self._waiting: list[tuple[Frame, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None
        # One thread: the writer is not thread-safe, and the disk syncs one at a time anyway.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="whyspan-wal")

    async def commit(self, kind: FrameKind, payload: bytes) -> None:
        """Makes the payload durable; raises StoreError when the disk refuses."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((Frame(kind=kind, payload=payload, received_ns=time.time_ns()), done))
        if self._task is None:
            self._task = asyncio.create_task(self._drain())
        await done

    async def close(self) -> None:
        """Finishes what is waiting and lets go of the segment."""
        if self._task is not None:
            await self._task
        self._thread.shutdown()
        self._writer.close()

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            begin_s = time.perf_counter()
            try:
                await loop.run_in_executor(self._thread, self._writer.append, [frame for frame, _ in batch])
            except StoreError as error:
                _settle([done for _, done in batch], error)
            else:
                self._observe_sync_s(time.perf_counter() - begin_s)
                _settle([done for _, done in batch], None)
        self._task = None


def _settle(futures: list[asyncio.Future[None]], error: StoreError | None) -> None:
    for done in futures:
        with contextlib.suppress(asyncio.InvalidStateError):  # the client has gone and its request was cancelled
            done.set_result(None) if error is None else done.set_exception(error)
