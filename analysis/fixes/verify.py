"""Measures candidates on the failing case.

All candidates share one baseline. Each gets an e-value against "it does not lower the rate", compared with
(number of candidates) / alpha, so the chance that any useless candidate passes is at most alpha, at any stopping time.
What is left of the rate is reported with an anytime-valid upper bound, never as a bare count.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ...ingest.calls import Json
from ...ingest.errors import UpstreamError
from ..attribution.problem import Tally
from ..claims import Claim, Verdict
from ..experiment import Experiment
from ..interventions import Noop, intervention_id
from ..statistics.evalues import log_e_value
from ..statistics.intervals import drop_interval, rate_interval
from ..statistics.logarithms import from_log
from ..statistics.noninferiority import log_e_keeps
from .candidates import Candidate
from .guarding import Guarding
from .horizon import Horizon

LOOKS = (8, 20, 48)
"""Draws after which a candidate is judged. With none going wrong, 20 bound what is left by 0.23; 48 settle a decision
that happens only now and then, or a fix that leaks a little."""
HOLDS_BELOW = 0.25
"""A fix `holds` when the rate that is left is bounded by this; a weaker one `reduces`."""
USELESS_SHARE = 0.5
"""A candidate `fails` when it is shown to keep more than this share of the rate."""
FEW = 4
"""Candidates that go on when there is not enough budget for all."""
COMPARED = 3
"""The best ones get equal numbers of draws before they are ranked."""
SAME_BOUND = 0.05
"""Bounds on what is left are compared in steps of this size."""
MOST_EXTRA = 512
"""More draws than this are not called a prospect."""


class Word(StrEnum):
    """How far a fix goes."""

    HOLDS = "holds"
    REDUCES = "reduces"
    FAILS = "fails"
    HARMFUL = "harmful"
    """It breaks decisions that were right."""
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A candidate with its outcome counts and what they say."""

    candidate: Candidate
    claim: Claim
    residual: tuple[float, float]
    """Interval of the rate with the candidate."""
    more_calls: int | None = None
    """For an inconclusive one, how many more replays would probably tell; None when it is clear or out of reach."""
    refusal: str = ""
    """Why the model's server did not answer a request with the candidate; empty when it did."""
    guarding: Guarding | None = None
    """What it does to decisions that were right; None when that was not measured."""
    horizon: Horizon | None = None
    """What is left of the rate in other failing runs; None when there were none."""

    @property
    def word(self) -> Word:
        """The verdict in a word."""
        return Word(self.claim.detail)

    @property
    def is_unfinished(self) -> bool:
        """Whether more draws were due that the budget did not allow."""
        can_change = self.word in {Word.REDUCES, Word.INCONCLUSIVE} and not self.refusal
        return can_change and self.claim.changed.draws < LOOKS[-1]

    @property
    def upper(self) -> float:
        """The largest rate that may be left, over the failing case and the other failing runs."""
        return max(self.residual[1], self.horizon.interval[1] if self.horizon else 0.0)

    @property
    def is_supported(self) -> bool:
        """Whether it lowers the rate and breaks nothing that was measured."""
        return self.claim.verdict is Verdict.SUPPORTED

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        return {
            "name": self.candidate.name,
            "title": self.candidate.title,
            "rule": self.candidate.rule,
            "verdict": self.word.value,
            "residual_interval": list(self.residual),
            "upper": self.upper,
            "more_calls": self.more_calls,
            "refusal": self.refusal,
            "guards": self.guarding.to_json() if self.guarding else None,
            "other_runs": self.horizon.to_json() if self.horizon else None,
            "claim": self.claim.to_json(),
        }

    def with_guarding(self, guarding: Guarding) -> "Measured":
        """Returns it judged on guard cases too: one that breaks them is harmful, whatever it stops."""
        claim = replace(self.claim, guards=guarding.to_json())
        if guarding.is_broken:
            claim = replace(claim, verdict=Verdict.HARMFUL, detail=Word.HARMFUL.value)
        return replace(self, guarding=guarding, claim=claim)


def ranked(measured: Sequence[Measured]) -> tuple[Measured, ...]:
    """Returns them best first: by the largest rate that may be left, not by what was lucky.

    Bounds of the same step count as equal, and the candidate that comes first in the list, the simpler one, wins.
    """
    return tuple(sorted(measured, key=lambda m: (not m.is_supported, math.ceil(m.upper / SAME_BOUND))))


async def measure(
    experiment: Experiment, candidates: Sequence[Candidate], *, alpha: float = 0.05, reserve: int = 0
) -> tuple[Measured, ...]:
    """Measures the candidates side by side, best first; fewer draws, and so weaker words, when the budget ends.

    `reserve` calls are left over for what comes after, as long as every candidate has had its first look.
    """
    if not candidates:
        return ()
    bench = _Bench(experiment, candidates, alpha)
    await bench.draw(candidates, LOOKS[0])
    for look in LOOKS[1:]:
        going = bench.affordable(bench.open(), look, reserve)
        if not going or not await bench.draw(going, look):
            break
    best = [m for m in ranked([bench.judge(c) for c in candidates]) if m.is_supported][:COMPARED]
    if best:
        # At equal draws, so that none is ahead only because it was looked at for longer.
        most = max(m.claim.changed.draws for m in best)
        await bench.draw(bench.affordable([m.candidate for m in best], most, reserve), most)
    return ranked([bench.judge(c) for c in candidates])


class _Bench:
    """Candidates and their counts, against one shared baseline."""

    def __init__(self, experiment: Experiment, candidates: Sequence[Candidate], alpha: float) -> None:
        self._experiment = experiment
        self._candidates = candidates
        self._alpha = alpha
        self._level = alpha / max(len(candidates), 1)
        self._base = Tally()
        self._tallies = {c.name: Tally() for c in candidates}
        self._refusals: dict[str, str] = {}

    async def draw(self, going: Sequence[Candidate], look: int) -> bool:
        """Brings the baseline and these candidates to `look` draws; returns whether anything was drawn."""
        before = self._experiment.drawn
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._draw_base(look))
                for candidate in going:
                    group.create_task(self._draw_candidate(candidate, look))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return self._experiment.drawn > before

    async def _draw_base(self, look: int) -> None:
        if self._base.draws < look:
            (outcomes,) = await self._experiment.draw_all([(Noop(), look - self._base.draws, None)])
            self._base += Tally.of(outcomes)

    async def _draw_candidate(self, candidate: Candidate, look: int) -> None:
        """Draws a candidate; one that the model's server refuses, such as an odd schema, must not end the others."""
        count = look - self._tallies[candidate.name].draws
        if count <= 0:
            return
        try:
            (outcomes,) = await self._experiment.draw_all([(candidate.intervention, count, None)])
        except UpstreamError as error:
            if error.transient:
                raise
            self._refusals[candidate.name] = error.message
        else:
            self._tallies[candidate.name] += Tally.of(outcomes)

    def open(self) -> list[Candidate]:
        """Returns the candidates whose verdict more draws could still change, the most promising first."""
        words = {c.name: _word(self._tallies[c.name], self._base, self._level, self._alpha) for c in self._candidates}
        going = [c for c in self._candidates if words[c.name] in {Word.REDUCES, Word.INCONCLUSIVE}]
        return sorted((c for c in going if c.name not in self._refusals), key=lambda c: self._tallies[c.name].rate)

    def affordable(self, going: Sequence[Candidate], look: int, reserve: int) -> Sequence[Candidate]:
        """Returns all of them, the first few, or none, as the budget allows."""
        left = self._experiment.engine.budget.left - reserve
        return next((going[:n] for n in (len(going), *range(FEW, 0, -1)) if self._cost(going[:n], look) <= left), [])

    def _cost(self, going: Sequence[Candidate], look: int) -> int:
        return sum(max(0, look - t.draws) for t in (self._base, *(self._tallies[c.name] for c in going)))

    def judge(self, candidate: Candidate) -> Measured:
        """Returns what the counts say about a candidate."""
        base, tally, case = self._base, self._tallies[candidate.name], self._experiment.case
        residual = rate_interval(tally.target, tally.draws, alpha=self._alpha)
        drop = drop_interval(tally.pair, base.pair, alpha=self._alpha)
        word = _word(tally, base, self._level, self._alpha)
        claim = Claim(
            case=case,
            kind="fix",
            detail=word.value,
            verdict=_VERDICTS[word],
            subject=candidate.intervention.summary,
            intervention_id=intervention_id(candidate.intervention),
            base=base,
            changed=tally,
            interval=(-drop.high, -drop.low),
            e_value=from_log(log_e_value(tally.pair, base.pair)),
            alpha=self._level,
            calls=self._experiment.drawn,
            model=str(case.request.get("model", "")),
        )
        more = _more_calls(tally, base, self._level, self._alpha) if word is Word.INCONCLUSIVE else None
        return Measured(
            candidate=candidate, claim=claim, residual=(residual.low, residual.high), more_calls=more,
            refusal=self._refusals.get(candidate.name, ""),
        )  # fmt: skip


_VERDICTS = {
    Word.HOLDS: Verdict.SUPPORTED,
    Word.REDUCES: Verdict.SUPPORTED,
    Word.FAILS: Verdict.REFUTED,
    Word.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


def _word(tally: Tally, base: Tally, level: float, alpha: float) -> Word:
    if log_e_value(tally.pair, base.pair) >= -math.log(level):
        upper = rate_interval(tally.target, tally.draws, alpha=alpha).high
        return Word.HOLDS if upper <= HOLDS_BELOW else Word.REDUCES
    if log_e_keeps(tally.pair, base.pair, share=USELESS_SHARE) >= -math.log(alpha):
        return Word.FAILS
    return Word.INCONCLUSIVE


def _more_calls(tally: Tally, base: Tally, level: float, alpha: float) -> int | None:
    """Returns after how many more replays the verdict would be clear if the rates stayed as they look now."""
    extra = 4
    while tally.draws and base.draws and extra <= MOST_EXTRA:
        more, base_more = _scaled(tally, extra), _scaled(base, extra)
        if _word(more, base_more, level, alpha) is not Word.INCONCLUSIVE:
            return 2 * extra
        extra = extra * 5 // 4
    return None


def _scaled(tally: Tally, extra: int) -> Tally:
    draws = tally.draws + extra
    target = round(tally.rate * draws)
    return Tally(target=target, other=draws - target)
