"""An experiment draws outcomes of one case under interventions, and hands over a record of each trial.

A fresh draw is always a sample index that the experiment has not used for that request, so evidence is never counted
twice. Running the same experiment again asks for the same indices: what was paid for comes from the reply store, which
is why a stopped experiment continues for free.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from ..ingest.calls import Body, ModelReply
from .attribution.problem import Outcome
from .canonical import digest
from .cases import Case
from .drift import DriftGuard
from .fields import previous_calls
from .interventions import Intervention, Noop, intervention_id
from .judging import judge
from .replay.drawing import SAMPLES_PER_CALL, ChoiceSampler
from .replay.engine import ReplayEngine
from .replay.reply_store import StoredReply
from .targets import JudgeTarget
from .targets.classes import classify, classify_other

STREAM_SIZE = 1_000_000
"""Sample indices set apart for each use, so that `fix` never reuses the draws that made `why` suspect a piece."""
STREAMS = {"why": 0, "fix": STREAM_SIZE, "test": 2 * STREAM_SIZE, "replay": 3 * STREAM_SIZE, "score": 4 * STREAM_SIZE}
RECORD_EVERY = 500
"""Trials that are held before they are handed over; memory does not grow with an experiment."""

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
Record: TypeAlias = Callable[[Sequence[Trial]], None]


@dataclass
class Experiment:
    """Draws outcomes of one case."""

    case: Case
    engine: ReplayEngine
    stream: str
    """A key of STREAMS: which indices its samples have."""
    progress: Progress = lambda _: None
    """Called after every draw."""
    record: Record = lambda _: None
    """Gets the trials, some at a time and the rest at `flush`."""
    watch: Record = lambda _: None
    """Sees every trial at once."""
    choices: ChoiceSampler | None = None
    """Draws the samples from probabilities that the model tells, in the place of the engine."""
    cap: int | None = None
    """Trials at most, those known from before included: an experiment that is done again then comes out the same."""
    drawn: int = 0
    """Trials so far."""
    calls: int = 0
    """Calls of the model behind the trials, known ones included: fewer where samples are drawn from a call."""
    paid: int = 0
    """Trials that this run had to pay for."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    """Tokens and known money of all trials, those paid earlier included."""
    models: dict[str, int] = field(default_factory=dict)
    """Models that the provider says have answered → trials."""
    drift: DriftGuard = field(default_factory=DriftGuard)
    """Watches whether the model stays the same."""
    _ordered: int = 0
    _used: dict[str, int] = field(default_factory=dict)
    _before: Mapping[str, int] = field(default_factory=dict)
    """Of an experiment that is done again: request digest → the first index that it had not come to."""
    _trials: list[Trial] = field(default_factory=list)

    @property
    def samples_per_call(self) -> int:
        """How many samples of one request to draw at a time: what one call gives."""
        return SAMPLES_PER_CALL if self.choices else 1

    async def draw(self, intervention: Intervention, count: int, *, request: Body | None = None) -> tuple[Outcome, ...]:
        """Returns `count` fresh outcomes, fewer when the budget has ended or the cap is reached.

        `request` is the edited request where the caller has it already.
        """
        body = intervention.apply(self.case).request if request is None else request
        key = digest(body)
        first = self._used.get(key, STREAMS[self.stream])
        drawn_before = max(0, self._before.get(key, first) - first)
        count = count if self.cap is None else min(count, drawn_before + self.cap - self._ordered)
        self._ordered += max(0, count - drawn_before)
        self._used[key] = first + count
        identity = intervention_id(intervention)
        found = await (self.choices or self.engine).sample(body, first, count)
        outcomes = await self._outcomes([stored.completion.reply for stored, _ in found])
        trials = [
            Trial(
                case=self.case, intervention=intervention, intervention_id=identity, stored=stored, cached=cached,
                outcome=outcome,
            )
            for (stored, cached), outcome in zip(found, outcomes, strict=True)
            if outcome is not None
        ]  # fmt: skip
        # Of samples that were drawn from one call, the first stands for the call.
        is_drawn = self.choices is not None and self.choices.has_read(body)
        self._note(trials, recorded=trials[: first == STREAMS[self.stream]] if is_drawn else trials)
        self.progress(self)
        return tuple(t.outcome for t in trials)

    async def _outcomes(self, replies: Sequence[ModelReply]) -> list[Outcome | None]:
        """Returns the classes of replies; None where the budget ended before a judge could tell."""
        target = self.case.target
        if not isinstance(target, JudgeTarget):
            return [classify(target, reply, self._known) for reply in replies]
        verdicts = await asyncio.gather(*(judge(self.engine, self.case, target, reply) for reply in replies))
        return [
            v if v is None else Outcome.TARGET if v else classify_other(reply, self._known)
            for v, reply in zip(verdicts, replies, strict=True)
        ]

    @cached_property
    def _known(self) -> frozenset[tuple[str, str]]:
        """Calls of the recorded history: one whose arguments were removed is still one that the agent has made."""
        return previous_calls(self.case.api, self.case.request)

    async def draw_all(self, draws: Sequence[Order]) -> tuple[tuple[Outcome, ...], ...]:
        """Draws several interventions at once; the first failure ends the others and is raised.

        What is ordered first is asked first. Callers order the unchanged request first: its beginning, which most
        edits share, is then in the provider's prompt cache.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self.draw(i, n, request=body)) for i, n, body in draws]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return tuple(task.result() for task in tasks)

    def again(self) -> "Experiment":
        """Returns the same experiment from its first sample on: what was drawn comes again, and is not paid for.

        Both share the cap: what is drawn again does not count against it a second time.
        """
        return Experiment(
            case=self.case, engine=self.engine, stream=self.stream, progress=self.progress, record=self.record,
            choices=self.choices, cap=self.cap, _ordered=self._ordered, _before=self._used,
        )  # fmt: skip

    def flush(self) -> None:
        """Hands over the trials that are still held."""
        trials, self._trials = self._trials, []
        if trials:
            self.record(trials)

    def _note(self, trials: Sequence[Trial], *, recorded: Sequence[Trial]) -> None:
        """Counts trials, and hands over those to be recorded when there are many."""
        self.drawn += len(trials)
        self.paid += sum(not t.cached for t in trials)
        for trial in trials:
            if isinstance(trial.intervention, Noop):
                is_target = trial.outcome is Outcome.TARGET
                self.drift.note(is_target=is_target, model=trial.stored.completion.reply.model)
            completion = trial.stored.completion
            self.input_tokens += completion.usage.input_tokens or 0
            self.output_tokens += completion.usage.output_tokens or 0
            self.cost_usd += completion.usage.cost_usd or 0.0
            if completion.reply.model:
                self.models[completion.reply.model] = self.models.get(completion.reply.model, 0) + 1
        self.watch(trials)
        self.calls += len(recorded)
        self._trials += recorded
        if len(self._trials) >= RECORD_EVERY:
            self.flush()
