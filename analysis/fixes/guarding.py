"""Measures what candidates do to guard cases: whether they keep what was right, or break it."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...ingest.calls import Json
from ..attribution.problem import Outcome, Tally
from ..experiment import Experiment
from ..interventions import Intervention, Noop
from ..statistics.noninferiority import log_e_breaks, log_e_keeps
from .candidates import touches
from .guards import GuardCase

KEPT_SHARE = 0.8
"""A fix is safe when it is shown to keep more than this share of the right decisions."""
GUARD_DRAWS = 24
"""Draws in each arm, over all guard cases, after which a candidate is first judged."""
LOOKS = (GUARD_DRAWS, 2 * GUARD_DRAWS)


class Safety(StrEnum):
    """What a candidate does to decisions that were right."""

    KEEPS = "keeps"
    BREAKS = "breaks"
    UNCLEAR = "unclear"
    UNTOUCHED = "untouched"
    """It changes none of the guard cases' requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardTally:
    """How often one guard case went right."""

    guard: GuardCase
    base: Tally
    changed: Tally

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        return {
            "reason": self.guard.reason,
            "target": self.guard.case.target.spec,
            "case_id": self.guard.case.id,
            "base": {"right": self.base.target, "draws": self.base.draws},
            "changed": {"right": self.changed.target, "draws": self.changed.draws},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarding:
    """What a candidate does to the guard cases."""

    tallies: tuple[GuardTally, ...]
    """Only of guard cases whose request the candidate changes."""
    alpha: float
    """The level of both claims."""

    @property
    def base(self) -> Tally:
        """Right decisions without the candidate, over all guard cases."""
        return sum((t.base for t in self.tallies), Tally())

    @property
    def changed(self) -> Tally:
        """Right decisions with it."""
        return sum((t.changed for t in self.tallies), Tally())

    @property
    def safety(self) -> Safety:
        """The verdict."""
        if not self.tallies:
            return Safety.UNTOUCHED
        needed = -math.log(self.alpha)
        if log_e_breaks([(t.changed.pair, t.base.pair) for t in self.tallies], share=KEPT_SHARE) >= needed:
            return Safety.BREAKS
        keeps = log_e_keeps(self.changed.pair, self.base.pair, share=KEPT_SHARE) >= needed
        return Safety.KEEPS if keeps else Safety.UNCLEAR

    @property
    def is_broken(self) -> bool:
        """Whether a decision that was right was shown to go wrong."""
        return self.safety is Safety.BREAKS

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        return {
            "safety": self.safety.value,
            "kept_share": KEPT_SHARE,
            "alpha": self.alpha,
            "cases": [t.to_json() for t in self.tallies],
        }


async def guard(
    experiments: Sequence[tuple[GuardCase, Experiment]], changes: Sequence[Intervention], *, alpha: float = 0.05
) -> tuple[Guarding, ...]:
    """Measures interventions on guard cases, each in its own experiment; one result for each, in order."""
    level = alpha / max(len(changes), 1)
    benches = [_Bench(guard, experiment) for guard, experiment in experiments]
    results = tuple(_judge(benches, change, level) for change in changes)
    for look in LOOKS:
        going = [c for c, r in zip(changes, results, strict=True) if r.safety is Safety.UNCLEAR]
        rounds = math.ceil(look / max(len(benches), 1))
        if not going or not any(await asyncio.gather(*(b.draw(going, rounds) for b in benches))):
            break
        results = tuple(_judge(benches, change, level) for change in changes)
    return results


class _Bench:
    """One guard case with the outcomes drawn of it."""

    def __init__(self, guard: GuardCase, experiment: Experiment) -> None:
        self.guard = guard
        self._experiment = experiment
        self._outcomes: dict[Intervention, list[Outcome]] = {}

    def is_touched(self, change: Intervention) -> bool:
        """Whether a change does anything to this request."""
        return touches(change, self.guard.case)

    async def draw(self, changes: Sequence[Intervention], rounds: int) -> bool:
        """Brings the baseline and these changes to `rounds` draws; returns whether anything was drawn."""
        wanted = [Noop(), *(c for c in changes if self.is_touched(c))]
        if len(wanted) == 1:
            return False
        orders = [(c, rounds - len(self._of(c)), None) for c in wanted if len(self._of(c)) < rounds]
        replies = await self._experiment.draw_all(orders)
        for (change, _, _), outcomes in zip(orders, replies, strict=True):
            self._of(change).extend(outcomes)
        return any(replies)

    def drawn(self, change: Intervention) -> int:
        """Pairs of draws there are, with and without a change."""
        return min(len(self._of(Noop())), len(self._of(change)))

    def tally(self, change: Intervention, rounds: int) -> GuardTally:
        """Returns the outcomes of the first rounds."""
        base, changed = self._of(Noop())[:rounds], self._of(change)[:rounds]
        return GuardTally(guard=self.guard, base=Tally.of(base), changed=Tally.of(changed))

    def _of(self, change: Intervention) -> list[Outcome]:
        return self._outcomes.setdefault(change, [])


def _judge(benches: Sequence[_Bench], change: Intervention, level: float) -> Guarding:
    """Counts full rounds only: where the budget ended in the middle of one, the rest of it is left out."""
    touched = [b for b in benches if b.is_touched(change)]
    rounds = min((b.drawn(change) for b in touched), default=0)
    return Guarding(tallies=tuple(b.tally(change, rounds) for b in touched), alpha=level)
