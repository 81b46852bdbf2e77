"""The roller as a child process: started with the collector, restarted when it dies, gone when the collector is."""

import asyncio
import dataclasses
import logging
import os
import sys
from pathlib import Path

from ..ingest.errors import StoreError
from ..ingest.store.rolling_status import RollerStatus

logger = logging.getLogger(__name__)

_RESTART_PAUSE_S = 1.0
_ALLOCATION = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
}
"""Batches come and go: memory that one has used is kept for the next, since taking it from the system anew costs a
third of the work. What is kept is bounded, shared with the merges, and given back when there is nothing to do."""


class RollerProcess:
    """Runs `whyspan.ingest.store.rolling` on a store. The child ends when its standard input does."""

    def __init__(self, store: Path, keep_days: int | None) -> None:
        self._arguments = [str(store), *([str(keep_days)] if keep_days is not None else [])]
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self.status = RollerStatus()
        self.is_alive = False

    async def start(self) -> None:
        """Starts the child, which makes the store if need be; `ready` waits for it."""
        await self._spawn()

    async def ready(self) -> None:
        """Returns once the child has the store, and looks after it from then on. Raises StoreError."""
        process = self._process or await self._spawn()
        line = await _read_line(process)
        self.status = RollerStatus.from_line(line) if line else RollerStatus(error="the roller did not start")
        if self.status.error:
            await process.wait()
            raise StoreError(self.status.error, hint=self.status.hint or None)
        self.is_alive = True
        self._watch = asyncio.create_task(self._keep_alive(process))

    async def stop(self) -> None:
        """Lets the child roll what is left, and waits for it."""
        if self._watch is not None:
            self._watch.cancel()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            await self._process.wait()

    async def _spawn(self) -> asyncio.subprocess.Process:
        module = f"{__name__.split('.')[0]}.ingest.store.rolling"
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", module, *self._arguments)
        environ = {**_ALLOCATION, **os.environ}
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=environ)
        return self._process

    async def _keep_alive(self, process: asyncio.subprocess.Process) -> None:
        while True:
            while line := await _read_line(process):
                self.status = dataclasses.replace(RollerStatus.from_line(line), restarts=self.status.restarts)
                self.is_alive = True
            self.is_alive = False
            code = await process.wait()
            logger.error("the roller ended with code %s; what it left undone is done by the next one", code)
            await asyncio.sleep(_RESTART_PAUSE_S)
            self.status = dataclasses.replace(self.status, restarts=self.status.restarts + 1)
            process = await self._spawn()


async def _read_line(process: asyncio.subprocess.Process) -> bytes:
    return await process.stdout.readline() if process.stdout is not None else b""
