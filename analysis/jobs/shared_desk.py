"""A desk at which many decisions are worked on at once: one engine an endpoint, so that its limits hold for all of them
together, records that are written many at a time, and one `why` at a time of any one request.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ...ingest.spans import Span
from ..canonical import digest
from ..cases import Case
from ..desk import Desk
from ..experiment import Experiment
from ..replay.engine import ReplayEngine
from ..replay.reply_store import SqliteReplyStore
from ..targets import ErrorTarget


@dataclass(kw_only=True)
class SharedDesk(Desk):
    """A desk for the decisions of a job."""

    pending: list[Span] = field(default_factory=list)
    """What is still to be written to the store."""
    _replies: SqliteReplyStore | None = None
    _engines: dict[tuple[str, bool], ReplayEngine] = field(default_factory=dict)
    _turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    @asynccontextmanager
    async def experiment(self, case: Case, stream: str) -> AsyncIterator[Experiment]:
        """Opens an experiment; one of `why` waits for another on the same request.

        Chains of several decisions may lead to one earlier call: both ask for the same samples, and what the first has
        paid for is free to the second only once it is answered. Nobody holds two of them, so nobody waits for ever.
        """
        if stream != "why":
            async with super().experiment(case, stream) as experiment:
                yield experiment
            return
        async with self._turns[digest(case.request)], super().experiment(case, stream) as experiment:
            yield experiment

    @asynccontextmanager
    async def engine(self, case: Case) -> AsyncIterator[ReplayEngine]:
        """Gives the engine of the endpoint that answers a case's replays."""
        provider = self.model.open(case)
        keeps_errors = isinstance(case.target, ErrorTarget)
        key = (provider.endpoint, keeps_errors)
        if key in self._engines:
            await provider.aclose()
        else:
            self._replies = self._replies or SqliteReplyStore(self.reply_file)
            self._engines[key] = ReplayEngine(
                provider, self._replies, self.budget, concurrency=self.concurrency, limits=self.model.limits(case),
                prices=self.prices, keep_errors=keeps_errors,
            )  # fmt: skip
        yield self._engines[key]

    def write(self, spans: Sequence[Span]) -> None:
        """Keeps spans for the next `flush`."""
        self.pending += spans

    def flush(self) -> None:
        """Writes what is pending; may run in another thread while more comes in."""
        count = len(self.pending)
        if count:
            self.store.write(self.pending[:count])
            del self.pending[:count]

    async def aclose(self) -> None:
        """Lets go of connections and files."""
        for engine in self._engines.values():
            await engine.provider.aclose()
        if self._replies:
            self._replies.close()
