"""The replay engine: concurrent sampling with a hard budget, retries, and every paid reply kept."""

import asyncio
import random
import time
from collections.abc import Sequence

from ...ingest.calls import Body
from ...ingest.errors import UpstreamError
from ..canonical import digest
from .budget import Budget
from .completion import Completion, Provider
from .reply_store import ReplyStore, StoredReply

MAX_ATTEMPTS = 5
BACKOFF_S = 0.5
"""First pause after a transient failure; doubles, with full jitter."""
MAX_PAUSE_S = 60.0


class ReplayEngine:
    """Draws samples of requests from one provider."""

    def __init__(
        self, provider: Provider, replies: ReplyStore, budget: Budget, *, concurrency: int = 8, seed: int = 0
    ) -> None:
        self.provider = provider
        self.budget = budget
        self._replies = replies
        self._slots = asyncio.Semaphore(concurrency)
        self._jitter = random.Random(seed)

    async def sample(self, request: Body, first: int, count: int) -> list[tuple[StoredReply, bool]]:
        """Returns samples `first` … `first + count - 1` of a request, each with whether it was already paid for.

        Fewer come back only when the budget has ended. UpstreamError passes through once retrying is pointless.
        """
        key = digest(request)
        known = {r.sample: r for r in self._replies.find(self.provider.endpoint, key, first, count)}
        wanted = [i for i in range(first, first + count) if i not in known]
        granted = self.budget.reserve(len(wanted))
        fresh = {r.sample: r for r in await self._ask(request, key, wanted[:granted])}
        found = [(known.get(i) or fresh.get(i), i in known) for i in range(first, first + count)]
        return [(reply, cached) for reply, cached in found if reply is not None]

    async def _ask(self, request: Body, key: str, samples: list[int]) -> list[StoredReply]:
        answered: list[StoredReply] = []
        try:
            while len(answered) < len(samples):
                left = samples[len(answered) :]
                answered += await self._ask_once(request, key, left)
        finally:
            self.budget.settle(len(samples), len(answered))
        return answered

    async def _ask_once(self, request: Body, key: str, samples: list[int]) -> list[StoredReply]:
        """One request to the model, for as many of the samples as it gives."""
        async with self._slots:
            start_ns = time.time_ns()
            completions = await self._attempt(request, len(samples))
            end_ns = time.time_ns()
        replies = [
            StoredReply(sample=sample, completion=completion, start_ns=start_ns, end_ns=end_ns)
            for sample, completion in zip(samples, completions, strict=False)
        ]
        self._replies.add(self.provider.endpoint, key, replies)
        return replies

    async def _attempt(self, request: Body, count: int) -> Sequence[Completion]:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return await self.provider.complete(request, count)
            except UpstreamError as error:
                if not error.transient or attempt == MAX_ATTEMPTS:
                    raise
                pause = error.retry_after_s
                if pause is None:
                    pause = self._jitter.uniform(0, BACKOFF_S * 2**attempt)
                await asyncio.sleep(min(pause, MAX_PAUSE_S))
        raise AssertionError("the loop returns or raises")
