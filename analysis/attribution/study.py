"""The state that the procedures of one attribution share."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from .confirm import Docket
from .ledger import NOTHING, Ledger
from .posterior import Belief, PoolPrior, update
from .priors import share_out, suspicion_weights
from .problem import Leaf, Options, Role, Tally
from .result import Claim, Dose, Kind

_FIRST_LOOK: Final = 4
_SECOND_LOOK: Final = 8
_UNSTABLE_LOOK: Final = 14
"""Baseline draws: at first, after a miss, and when the decision happens in less than 70 % of the samples."""
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
        self.ledger = Ledger(budget=options.budget, samples_per_call=options.samples_per_call)
        self.docket = Docket(ledger=self.ledger, options=options)
        self.rng = np.random.default_rng(options.seed)
        self.claims: list[Claim] = []
        self.dose: tuple[Dose, ...] = ()
        self.notes: list[str] = []
        self.open: list[str] = []
        given = np.array([leaf.role.is_given for leaf in self.leaves], dtype=bool)
        self.pool = frozenset(i for i in range(len(self.leaves)) if options.given or not given[i])
        """Leaves that may be removed."""
        self._nearest = min((self.leaves[i].role.distance for i in self.pool), default=0)
        weights = suspicion_weights(self.leaves, decision, options)
        even = share_out(np.ones(len(self.leaves)), given)
        self._weights = (1 - _EVEN) * share_out(weights, given) + _EVEN * even
        self._required = self._required_chances()
        self._latest: tuple[tuple[frozenset[int], float, int], Belief] | None = None

    def add(self, claim: Claim) -> None:
        """Takes up a claim."""
        self.claims.append(claim)

    @property
    def claimed(self) -> frozenset[int]:
        """Leaves of all claims."""
        return frozenset[int]().union(*(claim.removal for claim in self.claims))

    @property
    def is_explained(self) -> bool:
        """Whether a cause with a large effect is claimed, as near to the occasion of the decision as pieces get here.

        An input that the call merely requires explains nothing, and the frame of a decision (what was said or set
        before the run) does not explain it alone: what the model read within that frame is looked for as well.
        """
        return any(self.distance(claim) == self._nearest for claim in self._large())

    @property
    def has_large_claim(self) -> bool:
        """Whether any cause with a large effect is claimed, be it only of the frame."""
        return bool(self._large())

    def distance(self, claim: Claim) -> int:
        """Returns how far the nearest piece of a claim is from the occasion of the decision."""
        return min(self.leaves[leaf].role.distance for leaf in claim.removal)

    def elsewhere(self, removal: frozenset[int]) -> Tally:
        """Returns all outcomes of the baseline and of removals that touch nothing of this one."""
        apart = (tally for other, tally in self.ledger.tests().items() if not other & removal)
        return sum(apart, self.ledger.baseline)

    def prior(self, pool: frozenset[int], any_cause: float) -> PoolPrior:
        """Returns what is believed of a pool before its draws."""
        order = tuple(sorted(pool))
        weights = self._weights[list(order)]
        return PoolPrior(
            pool=order,
            weights=weights / weights.sum(),
            any_cause=any_cause,
            required=self._required[list(order)],
        )

    def believe(self, pool: frozenset[int], any_cause: float) -> Belief:
        """Returns the posterior of a pool that is not empty."""
        ledger = self.ledger
        key = (pool, any_cause, ledger.draws)
        if self._latest is None or self._latest[0] != key:
            prior = self.prior(pool, any_cause)
            belief = update(prior, ledger.tests(), baseline=ledger.baseline, base_rate=ledger.base_rate)
            self._latest = key, belief
        return self._latest[1]

    def baseline_wishes(self) -> dict[frozenset[int], int]:
        """Returns the baseline draws still missing: few for a stable decision, more when it wavers."""
        base = self.ledger.baseline
        wanted = _FIRST_LOOK
        if base.target < base.draws:
            wanted = _SECOND_LOOK
        if base.draws >= _SECOND_LOOK and base.rate < 0.7:
            wanted = _UNSTABLE_LOOK
        return {NOTHING: max(0, wanted - base.draws)}

    def _large(self) -> list[Claim]:
        return [claim for claim in self.claims if claim.has_large_effect and claim.kind is not Kind.REQUIRED]

    def _required_chances(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        counts = {role: sum(leaf.role == role for leaf in self.leaves) for role in Role}
        return np.array([min(0.35, _REQUIRED_EXPECTED[leaf.role] / counts[leaf.role]) for leaf in self.leaves])
