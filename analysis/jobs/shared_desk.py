"""A desk at which many decisions are worked on at once: one engine an endpoint, so that its limits hold for all of them
together, and records that are written many at a time.
"""

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ...ingest.spans import Span
from ..cases import Case
from ..claims import Claim
from ..desk import Desk
from ..experiment import Experiment
from ..records import claim_span, trial_spans
from ..replay.engine import ReplayEngine
from ..replay.reply_store import SqliteReplyStore
from ..targets import ErrorTarget


@dataclass(kw_only=True)
class SharedDesk(Desk):
    """A desk for the decisions of a job."""

    per_experiment: int
    """Replays for one experiment."""
    pending: list[Span] = field(default_factory=list)
    """What is still to be written to the store."""
    _replies: SqliteReplyStore | None = None
    _engines: dict[tuple[str, bool], ReplayEngine] = field(default_factory=dict)

    @asynccontextmanager
    async def experiment(self, case: Case, stream: str) -> AsyncIterator[Experiment]:
        """Opens an experiment that ends after `per_experiment` replays."""
        experiment = Experiment(
            case=case, engine=await self._shared(case), stream=stream, progress=self.progress, cap=self.per_experiment,
            record=lambda trials: self.write(trial_spans(trials)),
        )  # fmt: skip
        try:
            yield experiment
        finally:
            experiment.flush()

    def keep(self, claims: Iterable[Claim]) -> None:
        """Keeps claims for the next `flush`."""
        now = time.time_ns()
        self.write([claim_span(c, time_ns=now) for c in claims])

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

    async def _shared(self, case: Case) -> ReplayEngine:
        provider = self.model.open(case)
        keeps_errors = isinstance(case.target, ErrorTarget)
        key = (provider.endpoint, keeps_errors)
        if key in self._engines:
            await provider.aclose()
            return self._engines[key]
        self._replies = self._replies or SqliteReplyStore(self.reply_file)
        self._engines[key] = ReplayEngine(
            provider, self._replies, self.budget, concurrency=self.concurrency, limits=self.model.limits(case),
            keep_errors=keeps_errors,
        )  # fmt: skip
        return self._engines[key]
