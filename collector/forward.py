"""Everything accepted goes on to another OTLP endpoint as well, from a durable queue.

The queue costs nothing on the way in: it is a second name (a hard link) for each segment of the log. The roller removes
its name when the data are in Parquet, the forwarder removes the other one when the data are delivered. Delivery is at
least once and in order; an upstream that is down only makes the queue longer.
"""

import asyncio
import json
import logging
import random
from collections.abc import Callable
from pathlib import Path

import httpx

from ..ingest.remote import retry_after_s
from ..ingest.store.wal import Frame, FrameKind, Retirement, list_segments, read_segment, retire_segment
from .config import Forward

logger = logging.getLogger(__name__)

_PATHS = {FrameKind.TRACES: "/v1/traces", FrameKind.LOGS: "/v1/logs"}
_RETRYABLE = (408, 429, 500, 502, 503, 504)
"""OTLP/HTTP names 429, 502, 503 and 504; proxies answer 408 and 500 for what is as temporary."""
_IDLE_S = 0.2
_MAX_PAUSE_S = 30.0
_BATCH_BYTES = 8 << 20


class Forwarder:
    """Sends the queue on until it is stopped. `count` is told the outcome of each request."""

    def __init__(self, queue: Path, forward: Forward, count: Callable[[str], None]) -> None:
        self._queue = queue
        self._url = forward.url.rstrip("/")
        self._headers = {"content-type": "application/x-protobuf", **forward.headers}
        self._count = count
        self._position = queue / "position.json"

    def pending_bytes(self) -> int:
        """Returns how much waits to be sent."""
        sent = self._sent()
        return sum(path.stat().st_size - sent.get(path.name, 0) for path in list_segments(self._queue))

    async def run(self) -> None:
        """Sends what is in the queue and what comes into it, for ever."""
        async with httpx.AsyncClient(timeout=30, headers=self._headers) as client:
            while True:
                if not await self._send_some(client):
                    await asyncio.sleep(_IDLE_S)

    async def _send_some(self, client: httpx.AsyncClient) -> bool:
        sent = self._sent()
        for path in list_segments(self._queue):
            read = read_segment(path, sent.get(path.name, 0), _BATCH_BYTES)
            for frame in read.frames:
                await self._deliver(client, frame)
            if read.frames:
                self._remember({**sent, path.name: read.end.offset})
                return True
            if retire_segment(path, read.end.offset) is not Retirement.IN_USE:
                self._remember({name: offset for name, offset in sent.items() if name != path.name})
        return False

    async def _deliver(self, client: httpx.AsyncClient, frame: Frame) -> None:
        """Sends one request until the upstream has taken or refused it for good."""
        pause_s = 1.0
        while True:
            try:
                answer = await client.post(self._url + _PATHS[frame.kind], content=frame.payload)
            except httpx.TransportError as error:
                logger.warning("%s does not answer: %s", self._url, error)
                outcome, asked_s = "unreachable", None
            else:
                if answer.is_success:
                    self._count("delivered")
                    return
                if answer.status_code not in _RETRYABLE:
                    logger.error("%s refused a request for good: %s", self._url, answer.status_code)
                    self._count("refused")
                    return
                outcome, asked_s = "retried", retry_after_s(answer.headers)
            self._count(outcome)
            wait_s = pause_s * random.uniform(0.5, 1.5) if asked_s is None else asked_s
            await asyncio.sleep(min(wait_s, _MAX_PAUSE_S))
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)

    def _sent(self) -> dict[str, int]:
        try:
            offsets: dict[str, int] = json.loads(self._position.read_text())
        except FileNotFoundError:
            return {}
        return offsets

    def _remember(self, sent: dict[str, int]) -> None:
        """Notes what is delivered. Losing the note means sending again, so it needs no sync."""
        temporary = self._position.with_suffix(".tmp")
        temporary.write_text(json.dumps(sent))
        temporary.rename(self._position)
