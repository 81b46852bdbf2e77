"""The replay engine: concurrent sampling within hard caps, retries that obey the endpoint, every paid reply kept."""

import asyncio
import random
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import replace

from ...ingest.calls import Body, ModelReply
from ...ingest.errors import UpstreamError, UsageError
from ...ingest.prices import PriceList
from ..canonical import digest
from .budget import Budget, Spend
from .completion import Completion, Provider
from .group_commit import GroupCommit
from .limits import Limiter, Limits
from .prices import NO_PRICES, cost_usd, is_free, price_of
from .reply_store import ReplyStore, StoredReply
from .seeds import has_seed, with_seed_of_sample
from .sizing import Sizing, output_bound

MAX_ATTEMPTS = 5
BACKOFF_S = 0.5
"""First pause after a transient failure; doubles, with full jitter."""
MAX_PAUSE_S = 300.0
"""An endpoint that asks for a longer pause ends the job; what was answered is kept."""


class ReplayEngine:
    """Draws samples of requests from one provider."""

    def __init__(
        self,
        provider: Provider,
        replies: ReplyStore,
        budget: Budget,
        *,
        concurrency: int = 8,
        limits: Limits | None = None,
        prices: PriceList = NO_PRICES,
        keep_errors: bool = False,
        seed: int = 0,
    ) -> None:
        """With `keep_errors` a request that the endpoint refuses for good is an outcome instead of the job's end."""
        self.provider = provider
        self.budget = budget
        self._replies = replies
        self._writes = GroupCommit(replies)
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._limiter = Limiter(limits or Limits())
        self._has_rate = limits is not None and limits != Limits()
        self._prices = prices
        self._sizing = Sizing()
        self._keep_errors = keep_errors
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

    async def ask(self, request: Body) -> Completion | None:
        """Returns one fresh reply that is not stored; None when the budget has ended."""
        answered: list[StoredReply] = []
        if not self.budget.reserve(1):
            return None
        try:
            await self._ask_once(request, "", [0], answered)
        finally:
            self.budget.settle(1, len(answered))
        return answered[0].completion if answered else None

    def recall(self, key: str) -> StoredReply | None:
        """Returns what was kept under a key of the caller's own."""
        return next(iter(self._replies.find(self.provider.endpoint, key, 0, 1)), None)

    def keep(self, key: str, reply: StoredReply) -> None:
        """Keeps something that was paid for under a key of the caller's own, which is not that of any request."""
        self._writes.add(self.provider.endpoint, key, [reply])
        self._writes.flush()

    async def _ask(self, request: Body, key: str, samples: list[int]) -> list[StoredReply]:
        answered: list[StoredReply] = []
        try:
            left = samples
            is_seeded = has_seed(request)
            while left:
                size = 1 if is_seeded else max(1, self.provider.batch)
                chunks = iter([left[i : i + size] for i in range(0, len(left), size)])
                before = len(answered)
                workers = min(-(-len(left) // size), self._concurrency)
                await _all([self._work(request, key, chunks, answered) for _ in range(workers)])
                if len(answered) == before:
                    break
                done = {r.sample for r in answered}
                left = [i for i in left if i not in done]
        finally:
            self.budget.settle(len(samples), len(answered))
            self._writes.flush()
        return answered

    async def _work(self, request: Body, key: str, chunks: Iterator[list[int]], answered: list[StoredReply]) -> None:
        """Asks for chunks of samples, one after the other; several workers share the chunks."""
        for chunk in chunks:
            await self._ask_once(request, key, chunk, answered)

    async def _ask_once(self, request: Body, key: str, samples: list[int], answered: list[StoredReply]) -> None:
        """One request to the model, for as many of the samples as it gives; none when a cap would be passed.

        Replies are kept under `key`, and not kept without one.
        """
        most = self._most(request, len(samples)) if self.budget.needs_estimates else Spend()
        if self.budget.needs_estimates and not await self.budget.hold(most):
            return
        taken = Spend()
        try:
            async with self._slots:
                start_ns = time.time_ns()
                sent = with_seed_of_sample(request, samples[0])
                completions = [self._priced(c, request) for c in await self._attempt(sent, len(samples))]
                end_ns = time.time_ns()
            taken = self._taken(request, completions)
        finally:
            if self.budget.needs_estimates:
                self.budget.book(most, taken)
            else:
                self.budget.add(taken)
        replies = [
            StoredReply(sample=sample, completion=completion, start_ns=start_ns, end_ns=end_ns)
            for sample, completion in zip(samples, completions, strict=False)
        ]
        if key:
            self._writes.add(self.provider.endpoint, key, replies)
        answered += replies

    async def _attempt(self, request: Body, count: int) -> Sequence[Completion]:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            await self._limiter.admit(self._sizing.input_bound(request) if self._has_rate else 0)
            try:
                completions = await self.provider.complete(request, count)
                self._limiter.succeeded()
                return completions
            except UpstreamError as error:
                if not error.transient and self._keep_errors:
                    return [Completion(reply=ModelReply(error=error.message))]
                if not error.transient or attempt == MAX_ATTEMPTS:
                    raise
                await self._pause(error, attempt)
        raise AssertionError("the loop returns or raises")

    async def _pause(self, error: UpstreamError, attempt: int) -> None:
        """Waits before the next attempt; an endpoint that names a time makes every other request wait as well."""
        self._limiter.failed(error)
        asked = error.retry_after_s
        if asked is None:
            await asyncio.sleep(self._jitter.uniform(0, BACKOFF_S * 2**attempt))
            return
        if asked > MAX_PAUSE_S:
            raise UpstreamError(
                f"{error.message}; it asks to wait {asked:.0f} s",
                hint="the same command goes on from here later; what was answered is kept",
                transient=True,
            ) from error
        self._limiter.pause(asked)

    def _most(self, request: Body, count: int) -> Spend:
        """The most that one request may take."""
        read, written = self._sizing.input_bound(request), count * output_bound(request)
        usd = 0.0
        if self.budget.cost_cap_usd is not None and not is_free(self._url):
            model, url = str(request.get("model", "")), self._url
            price = price_of(self._prices, model, url)
            if price is None:
                raise UsageError(
                    f"the price of {model!r} at {url} is not known, so a cap in US dollars cannot be kept",
                    hint="give it in [prices] of whyspan.toml, or cap the tokens instead: --max-tokens N",
                )
            usd = (read * max(price.input, price.cached_input or 0.0) + written * price.output) / 1e6
        return Spend(tokens=read + written, cost_usd=usd)

    def _taken(self, request: Body, completions: Sequence[Completion]) -> Spend:
        usages = [c.usage for c in completions]
        read = sum(u.input_tokens or 0 for u in usages)
        if read and (self._has_rate or self.budget.needs_estimates):
            self._sizing.learn(request, max(u.input_tokens or 0 for u in usages))
        written = sum(u.output_tokens or 0 for u in usages)
        return Spend(tokens=read + written, cost_usd=sum(u.cost_usd or 0.0 for u in usages))

    def _priced(self, completion: Completion, request: Body) -> Completion:
        cost = cost_usd(self._prices, completion.usage, str(request.get("model", "")), self._url)
        return completion if cost is None else replace(completion, usage=replace(completion.usage, cost_usd=cost))

    @property
    def _url(self) -> str:
        return self.provider.endpoint.partition("#")[0]


async def _all(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Runs coroutines at once; the first failure ends the others and is raised."""
    if len(work) == 1:
        await work[0]
        return
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
