"""The roller as a child process: started with the collector, restarted when it dies, gone when the collector is."""

import asyncio
import logging
import sys
from pathlib import Path

logger = logging.getLogger(__name__)

_RESTART_PAUSE_S = 1.0


class RollerProcess:
    """Runs `whyspan.ingest.store.rolling` on a store. The child ends when its standard input does."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts the child and looks after it."""
        await self._spawn()
        self._watch = asyncio.create_task(self._keep_alive())

    async def stop(self) -> None:
        """Lets the child roll what is left, and waits for it."""
        if self._watch is not None:
            self._watch.cancel()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            await self._process.wait()

    async def _spawn(self) -> None:
        package = __name__.split(".")[0]
        command = (sys.executable, "-m", f"{package}.ingest.store.rolling", str(self._store))
        self._process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)

    async def _keep_alive(self) -> None:
        while self._process is not None:
            code = await self._process.wait()
            logger.error("the roller ended with code %s; what it left undone is done by the next one", code)
            await asyncio.sleep(_RESTART_PAUSE_S)
            await self._spawn()
