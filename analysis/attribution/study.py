"""The state that the procedures of one attribution share."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from .confirm import Docket
from .ledger import NOTHING, Ledger
from .posterior import Belief, PoolPrior, update
from .priors import suspicion_weights
from .problem import Leaf, Options, Role, Tally
from .result import Claim, Dose

_FIRST_LOOK: Final = 4
_SECOND_LOOK: Final = 8
_UNSTABLE_LOOK: Final = 14
"""Baseline draws: at first, after a miss, and when the decision happens in less than 70 % of the samples."""
_DRAWS_PER_BASELINE: Final = 6
"""The baseline grows with the search: four hits in a row happen to a rate of 0.6, too, and would mislead it."""
_EVEN: Final = 0.25
"""Share of the prior that is spread evenly over the leaves, whatever their words."""
_REQUIRED_EXPECTED: Final = {
    Role.TOOL: 0.4,
    Role.ASSISTANT: 0.1,
    Role.CALL_ARGUMENTS: 0.1,
    Role.USER: 1.0,
    Role.SYSTEM: 0.4,
    Role.TOOL_DEFINITION: 0.4,
}
"""How many required inputs one expects among the leaves of a role."""


class Study:
    """Leaves, options, what was drawn, what was claimed."""

    def __init__(self, leaves: Sequence[Leaf], decision: str, options: Options) -> None:
        self.leaves = tuple(leaves)
        self.options = options
        self.ledger = Ledger(budget=options.budget)
        self.docket = Docket(ledger=self.ledger, options=options)
        self.rng = np.random.default_rng(options.seed)
        self.claims: list[Claim] = []
        self.dose: tuple[Dose, ...] = ()
        self.notes: list[str] = []
        self.open: list[str] = []
        self._weights = suspicion_weights(self.leaves, decision, options)
        self._required = self._required_chances()

    def add(self, claim: Claim) -> None:
        """Takes up a claim."""
        self.claims.append(claim)

    def elsewhere(self, removal: frozenset[int]) -> Tally:
        """Returns all outcomes of the baseline and of removals that touch nothing of this one."""
        apart = (tally for other, tally in self.ledger.tests().items() if not other & removal)
        return sum(apart, self.ledger.baseline)

    def pool(self, *, given: bool) -> frozenset[int]:
        """Returns the leaves that were given before the run, or those read and written in it."""
        return frozenset(i for i, leaf in enumerate(self.leaves) if leaf.role.is_given == given)

    def prior(self, pool: frozenset[int], any_cause: float) -> PoolPrior:
        """Returns what is believed of a pool before its draws."""
        order = tuple(sorted(pool))
        weights = self._weights[list(order)]
        return PoolPrior(
            pool=order,
            weights=(1 - _EVEN) * weights / weights.sum() + _EVEN / len(order),
            any_cause=any_cause,
            required=self._required[list(order)],
        )

    def believe(self, pool: frozenset[int], any_cause: float) -> Belief:
        """Returns the posterior of a pool that is not empty."""
        return update(
            self.prior(pool, any_cause),
            self.ledger.tests(),
            baseline=self.ledger.baseline,
            base_rate=self.ledger.base_rate,
        )

    def baseline_wishes(self) -> dict[frozenset[int], int]:
        """Returns the baseline draws still missing: few for a stable decision, more when it wavers."""
        base = self.ledger.baseline
        wanted = _FIRST_LOOK
        if base.target < base.draws:
            wanted = _SECOND_LOOK
        if base.draws >= _SECOND_LOOK and base.rate < 0.7:
            wanted = _UNSTABLE_LOOK
        wanted = max(wanted, _FIRST_LOOK + (self.ledger.draws - base.draws) // _DRAWS_PER_BASELINE)
        return {NOTHING: max(0, min(wanted, _UNSTABLE_LOOK) - base.draws)}

    def _required_chances(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        counts = {role: sum(leaf.role == role for leaf in self.leaves) for role in Role}
        return np.array([min(0.35, _REQUIRED_EXPECTED[leaf.role] / counts[leaf.role]) for leaf in self.leaves])
