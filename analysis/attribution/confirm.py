"""The only place where claims are made: fresh draws of a nominated removal against the baseline.

A removal is nominated before the draws that count for it are made, so exploring any number of sets costs nothing; only
nominations use up error rate (`levels`). The e-value may be looked at after every round (`evalues`), and any number of
removals may be on trial in one round, beside sets that are only explored: what else is drawn, and why, changes nothing
in the law of a removal's fresh draws, and the levels hold under any dependence between trials.
"""

import math
from dataclasses import dataclass
from typing import Final

from ..statistics.evalues import log_e_value
from ..statistics.intervals import drop_interval
from ..statistics.levels import Levels
from .ledger import NOTHING, Ledger, Steps
from .problem import Options, Tally
from .result import Claim, Kind, Nominated

_PATIENCE: Final = 40
_PATIENCE_UNSTABLE: Final = 120
"""Most draws of a nominated removal, for a stable decision and for one below a rate of 0.8."""
_ROUND_LIMIT: Final = 8
"""Most draws of either side that one round of confirmation asks for."""
_STEPS: Final = (*range(9), *range(10, 25, 2), 28, 32, 36)
_ORDERS: Final = sorted(
    ((a, b) for a in _STEPS for b in _STEPS if a + b), key=lambda order: (sum(order), abs(order[0] - order[1]))
)
"""Numbers of further draws (removed, baseline) worth planning for, the cheapest first."""
_LARGE: Final = 0.5
"""A headline needs an estimated drop of at least this share of the base rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nomination:
    """A removal put to the test."""

    removal: frozenset[int]
    alpha_t: float
    before: Tally
    """Draws of the removal made before the nomination; they are not evidence."""


class Docket:
    """The nominations of one attribution and the evidence for each."""

    def __init__(self, *, ledger: Ledger, options: Options) -> None:
        self._ledger = ledger
        self._alpha = options.alpha
        self._levels = Levels(alpha=options.alpha, fwer=options.fwer)
        self._nominations: dict[frozenset[int], Nomination] = {}
        self._claims = 0

    def nominate(self, removal: frozenset[int]) -> Nomination:
        """Puts a removal to the test from now on; a repeated nomination continues the first one."""
        if removal not in self._nominations:
            self._nominations[removal] = Nomination(
                removal=removal,
                alpha_t=self._levels.next(claims=self._claims),
                before=self._ledger.tally(removal),
            )
        return self._nominations[removal]

    def fresh(self, nomination: Nomination) -> Tally:
        """Returns the draws that count as evidence."""
        return self._ledger.tally(nomination.removal) - nomination.before

    def log_e(self, nomination: Nomination) -> float:
        """Returns the log e-value as it stands."""
        fresh, base = self.fresh(nomination), self._ledger.baseline
        return log_e_value(fresh.pair, base.pair)

    def holds(self, nomination: Nomination) -> bool:
        """Whether the evidence suffices for a claim."""
        return self.log_e(nomination) >= -math.log(nomination.alpha_t)

    def claim(self, nomination: Nomination, kind: Kind) -> Claim:
        """Builds the claim from the evidence as it stands."""
        fresh, base = self.fresh(nomination), self._ledger.baseline
        self._claims += 1
        return Claim(
            removal=nomination.removal,
            kind=kind,
            with_pieces=base,
            without_pieces=fresh,
            e_value=math.exp(self.log_e(nomination)),
            alpha_t=nomination.alpha_t,
            drop=drop_interval(fresh.pair, base.pair, alpha=self._alpha),
            at_draw=self._ledger.draws,
            has_large_effect=fresh.rate <= (1 - _LARGE) * base.rate,
        )

    def nominated(self) -> tuple[Nominated, ...]:
        """Returns every removal put to the test so far, in that order, with the evidence as it stands."""
        return tuple(
            Nominated(removal=n.removal, tally=self.fresh(n), log_e=self.log_e(n)) for n in self._nominations.values()
        )

    def is_exhausted(self, nomination: Nomination) -> bool:
        """Whether the nomination has had the draws that a claim of any use should take."""
        patience = _PATIENCE if self._ledger.base_rate > 0.8 else _PATIENCE_UNSTABLE
        return self.fresh(nomination).draws >= patience * self._ledger.samples_per_call

    def is_hopeless(self, nomination: Nomination) -> bool:
        """Whether more draws are unlikely to end in a claim of any use."""
        fresh = self.fresh(nomination)
        seems_harmless = fresh.draws >= 10 and fresh.rate > 0.7 * self._ledger.base_rate
        return seems_harmless or self.is_exhausted(nomination)

    def plan(self, nomination: Nomination) -> dict[frozenset[int], int]:
        """Returns the cheapest draws of one round that could settle the nomination if its rate stays what it looks."""
        fresh, base = self.fresh(nomination), self._ledger.baseline
        needed = -math.log(nomination.alpha_t)
        rate_without = fresh.rate if fresh.target else 0.0
        for more, more_base in _ORDERS:
            without = (fresh.target + round(rate_without * more), fresh.draws + more)
            with_pieces = (base.target + round(base.rate * more_base), base.draws + more_base)
            if log_e_value(without, with_pieces) >= needed:
                break
        else:
            more = more_base = _ROUND_LIMIT
        scale = min(1.0, _ROUND_LIMIT / max(more, more_base))
        return {nomination.removal: math.ceil(more * scale), NOTHING: math.ceil(more_base * scale)}


def confirm(
    docket: Docket,
    ledger: Ledger,
    removal: frozenset[int],
    *,
    kind: Kind,
    aside: dict[frozenset[int], int],
) -> Steps[Claim | None]:
    """Draws until the removal is claimed or given up.

    Args:
        docket: where the removal is nominated.
        ledger: where draws go.
        removal: the leaves to remove.
        kind: kind of the claim, should it hold.
        aside: draws to make in the first round besides, since users wait for rounds.
    """
    nomination = docket.nominate(removal)
    while not docket.holds(nomination):
        if docket.is_hopeless(nomination):
            return None
        plan = docket.plan(nomination)
        yield from ledger.draw({**plan, **{r: c for r, c in aside.items() if r not in plan}})
        aside = {}
    return docket.claim(nomination, kind)
