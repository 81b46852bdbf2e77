"""Tests of lessons: matched pairs of cases, with the lesson and without, until the gate has decided."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..play.bench import Bench
from ..play.engines import at_once
from ..play.plays import Play
from ..scenarios.scenario import ScenarioCase
from .gate import Decision, Measurement, Strategy, judge
from .knowledge import Knowledge
from .lesson import Lesson
from .records import Finding

BATCH = 4
"""Cases asked at once; the gate looks after each batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A case, played with and without a lesson on the same samples."""

    without: tuple[Play, ...]
    changed: tuple[Play, ...]

    @property
    def scores(self) -> tuple[float, float]:
        """Mean scores without and with it."""
        return _mean(self.without), _mean(self.changed)

    @property
    def block(self) -> float:
        """The difference, in [-1, 1]."""
        before, after = self.scores
        return after - before


@dataclass
class Tester:
    """Measures lessons for one run."""

    bench: Bench
    knowledge: Knowledge
    strategy: Strategy
    run: str

    async def test(self, lesson: Lesson, served: Sequence[Lesson], *, first: int) -> tuple[Finding, list[Play]]:
        """Measures a lesson beside those that are served, and notes what came of it.

        Its number and the cases are fixed before the first pair is drawn: cases in the order of their digests.
        """
        scenario = self.bench.scenario
        entry = self.knowledge.book.reserve(lesson.id, epoch=scenario.epoch, run=self.run, alpha=self.strategy.alpha)
        pairs: list[Pair] = []
        measured = Measurement(number=entry.number, alpha=entry.alpha, blocks=())
        left = len(scenario.confirming)
        while measured.decide(left=left) is Decision.OPEN:
            batch = scenario.confirming[len(pairs) : len(pairs) + BATCH]
            pairs += await self.pairs(batch, lesson, served, first=first)
            left = len(scenario.confirming) - len(pairs)
            measured = Measurement(number=entry.number, alpha=entry.alpha, blocks=tuple(p.block for p in pairs))
        kept: list[Pair] = []
        if measured.decide() is Decision.ADMITTED:
            kept = await self.pairs(scenario.heldout, lesson, served, first=first)
        found = _finding(lesson, measured, pairs, kept, self.strategy)
        whole = found.measured
        self.knowledge.book.settle(
            replace(entry, decision=found.decision.value, blocks=whole.blocks, heldout=whole.heldout)
        )
        self.knowledge.record(scenario, found, self.strategy)
        return found, [play for pair in (*pairs, *kept) for play in (*pair.without, *pair.changed)]

    async def pairs(
        self, cases: Sequence[ScenarioCase], lesson: Lesson, served: Sequence[Lesson], *, first: int
    ) -> list[Pair]:
        """Plays cases in both ways, all at once."""
        others = [other for other in served if other.id != lesson.id]
        samples = range(first, first + self.bench.scenario.samples)
        plays = await at_once(
            self.bench.play(case, bundle, sample)
            for case in cases
            for bundle in (others, [*others, lesson])
            for sample in samples
        )
        size = len(samples)
        halves = [tuple(plays[i : i + size]) for i in range(0, len(plays), size)]
        return [Pair(without=a, changed=b) for a, b in zip(halves[::2], halves[1::2], strict=True)]


def _finding(
    lesson: Lesson, measured: Measurement, pairs: Sequence[Pair], kept: Sequence[Pair], strategy: Strategy
) -> Finding:
    whole = Measurement(
        number=measured.number, alpha=measured.alpha, blocks=measured.blocks, heldout=tuple(p.block for p in kept)
    )
    return Finding(lesson=lesson, measured=whole, decision=judge(whole, strategy), rates=mean_scores(pairs))


def mean_scores(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Returns the mean scores without and with a lesson; not a number where no pair was drawn."""
    if not pairs:
        return math.nan, math.nan
    without, changed = zip(*(pair.scores for pair in pairs), strict=True)
    return sum(without) / len(pairs), sum(changed) / len(pairs)


def _mean(plays: Sequence[Play]) -> float:
    return sum(play.score.score for play in plays) / len(plays)
