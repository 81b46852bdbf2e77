"""Measures candidates on the failing case.

All candidates share one baseline. Each gets an e-value against "it does not lower the rate", compared with
(number of candidates) / alpha, so the chance that any useless candidate passes is at most alpha, at any stopping time.
What is left of the rate is reported with an anytime-valid upper bound, never as a bare count.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..attribution.evalues import log_e_value
from ..attribution.intervals import drop_interval, rate_interval
from ..attribution.problem import Tally
from ..claims import Claim, Verdict
from ..experiment import Experiment, Order
from ..interventions import Noop, intervention_id
from .candidates import Candidate

FIRST_LOOK = 8
SECOND_LOOK = 24
"""Draws a promising candidate gets in all; a residual rate of 0 is then bounded by about 0.2."""
LAST_LOOK = 48
"""Draws when two dozen leave it open: a decision that happens only now and then, or a few failures with the fix."""
HOLDS_BELOW = 0.25
"""A fix `holds` when the rate that is left is bounded by this; a weaker one `reduces`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A candidate with its outcome counts and what they say."""

    candidate: Candidate
    claim: Claim
    residual: tuple[float, float]
    """Interval of the rate with the candidate."""

    @property
    def word(self) -> str:
        """`holds`, `reduces`, `fails` or `inconclusive`."""
        return self.claim.detail


async def measure(
    experiment: Experiment, candidates: Sequence[Candidate], *, alpha: float = 0.05
) -> tuple[Measured, ...]:
    """Measures the candidates side by side, best first; fewer draws, and so weaker words, when the budget ends."""
    base, tallies = await _first_round(experiment, candidates)
    level = alpha / len(candidates)
    for look in (SECOND_LOOK, LAST_LOOK):
        going = [c for c in candidates if _deserves_more(tallies[c.name], base, level, alpha)]
        if not going:
            break
        more = [(c, look - tallies[c.name].draws) for c in going]
        orders: list[Order] = [(Noop(), look - base.draws, None)] if base.draws < look else []
        orders += [(c.intervention, n, None) for c, n in more]
        replies = await experiment.draw_all(orders)
        for (c, _), outcomes in zip(more, replies[len(orders) - len(more) :], strict=True):
            tallies[c.name] += Tally.of(outcomes)
        if len(orders) > len(more):
            base += Tally.of(replies[0])
    measured = [_judge(experiment, c, base, tallies[c.name], level, alpha) for c in candidates]
    return tuple(sorted(measured, key=lambda m: (m.claim.verdict is not Verdict.SUPPORTED, m.residual[1])))


async def _first_round(experiment: Experiment, candidates: Sequence[Candidate]) -> tuple[Tally, dict[str, Tally]]:
    orders: list[Order] = [(Noop(), FIRST_LOOK, None), *((c.intervention, FIRST_LOOK, None) for c in candidates)]
    base, *replies = await experiment.draw_all(orders)
    return Tally.of(base), {c.name: Tally.of(r) for c, r in zip(candidates, replies, strict=True)}


def _deserves_more(tally: Tally, base: Tally, level: float, alpha: float) -> bool:
    """Goes on with what looks like a fix until it holds; a useless candidate gets no second look."""
    if tally.draws < FIRST_LOOK or tally.rate > 0.5 * base.rate:
        return False
    upper = rate_interval(tally.target, tally.draws, alpha=alpha).high
    return tally.draws < SECOND_LOOK or upper > HOLDS_BELOW or _log_e(tally, base) < math.log(1 / level)


def _log_e(tally: Tally, base: Tally) -> float:
    return log_e_value((tally.target, tally.draws), (base.target, base.draws))


def _judge(
    experiment: Experiment, candidate: Candidate, base: Tally, tally: Tally, level: float, alpha: float
) -> Measured:
    log_e = _log_e(tally, base)
    residual = rate_interval(tally.target, tally.draws, alpha=alpha)
    drop = drop_interval((tally.target, tally.draws), (base.target, base.draws), alpha=alpha)
    verdict, word = _words(log_e >= math.log(1 / level), residual.high, tally, base)
    claim = Claim(
        case=experiment.case,
        kind="fix",
        detail=word,
        verdict=verdict,
        subject=candidate.intervention.summary,
        intervention_id=intervention_id(candidate.intervention),
        base=base,
        changed=tally,
        interval=(-drop.high, -drop.low),
        e_value=math.exp(min(log_e, 700.0)),
        alpha=level,
        calls=len(experiment.trials),
        model=str(experiment.case.request.get("model", "")),
    )
    return Measured(candidate=candidate, claim=claim, residual=(residual.low, residual.high))


def _words(is_supported: bool, upper: float, tally: Tally, base: Tally) -> tuple[Verdict, str]:
    if is_supported:
        return Verdict.SUPPORTED, "holds" if upper <= HOLDS_BELOW else "reduces"
    if tally.draws >= FIRST_LOOK and tally.rate > 0.5 * base.rate:
        return Verdict.REFUTED, "fails"
    return Verdict.INCONCLUSIVE, "inconclusive"
