"""An experiment draws outcomes of one case under interventions, and keeps a record of each trial.

A fresh draw is always a sample index that the experiment has not used for that request, so evidence is never counted
twice. Running the same experiment again asks for the same indices: what was paid for comes from the reply store, which
is why a stopped experiment continues for free.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..ingest.calls import Body, Usage
from .attribution.problem import Outcome
from .canonical import digest
from .cases import Case
from .interventions import Intervention, intervention_id
from .replay.engine import ReplayEngine
from .replay.reply_store import StoredReply
from .targets import classify

STREAM_SIZE = 1_000_000
"""Sample indices set apart for each use, so that `fix` never reuses the draws that made `why` suspect a piece."""
STREAMS = {"why": 0, "fix": STREAM_SIZE, "test": 2 * STREAM_SIZE}


Order: TypeAlias = tuple[Intervention, int, Body | None]
"""An intervention, how many fresh samples of it, and the edited request where the caller has it already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One replay: what was changed, which sample it was, and what the model did."""

    case: Case
    intervention: Intervention
    intervention_id: str
    stored: StoredReply
    outcome: Outcome
    cached: bool
    """The reply was paid for before this experiment."""


Progress: TypeAlias = Callable[["Experiment"], None]


@dataclass
class Experiment:
    """Draws outcomes of one case."""

    case: Case
    engine: ReplayEngine
    stream: str
    """A key of STREAMS: which indices its samples have."""
    progress: Progress = lambda _: None
    """Called after every draw."""
    trials: list[Trial] = field(default_factory=list)
    _used: dict[str, int] = field(default_factory=dict)

    async def draw(self, intervention: Intervention, count: int, *, request: Body | None = None) -> tuple[Outcome, ...]:
        """Returns `count` fresh outcomes, fewer when the budget has ended.

        `request` is the edited request where the caller has it already.
        """
        body = intervention.apply(self.case.request) if request is None else request
        key = digest(body)
        first = self._used.get(key, STREAMS[self.stream])
        self._used[key] = first + count
        outcomes = []
        identity = intervention_id(intervention)
        for stored, cached in await self.engine.sample(body, first, count):
            outcome = classify(self.case.target, stored.completion.reply, body)
            outcomes.append(outcome)
            self.trials.append(
                Trial(
                    case=self.case, intervention=intervention, intervention_id=identity, stored=stored,
                    outcome=outcome, cached=cached,
                )
            )  # fmt: skip
        self.progress(self)
        return tuple(outcomes)

    async def draw_all(self, draws: Sequence[Order]) -> tuple[tuple[Outcome, ...], ...]:
        """Draws several interventions at once; the first failure ends the others and is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self.draw(i, n, request=body)) for i, n, body in draws]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return tuple(task.result() for task in tasks)

    @property
    def paid(self) -> int:
        """Replies that this run had to pay for."""
        return sum(not t.cached for t in self.trials)

    @property
    def usage(self) -> Usage:
        """Tokens of all trials, those paid earlier included."""
        usages = [t.stored.completion.usage for t in self.trials]
        return Usage(
            input_tokens=sum(u.input_tokens or 0 for u in usages),
            output_tokens=sum(u.output_tokens or 0 for u in usages),
        )
