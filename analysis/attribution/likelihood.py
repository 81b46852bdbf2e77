"""How likely the outcomes of a removal are, depending on what the removed set holds.

Outcomes have three values. A set without any cause behaves like the baseline; one with a pushing cause keeps a share
`residual` of the base rate and mostly ends in another action; one with an input that the call requires mostly makes the
model ask. Every likelihood is mixed with a little of the uniform one, since real models never fit a simple model: a
little more, the more is removed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from .problem import Tally

Array = NDArray[np.float64]

DOSE_SLOPES: Final = (3.0, 4.5, 6.0)
"""Fall of the log-odds of the decision from nothing to everything removed, for a diffuse cause."""
_MISFIT: Final = 0.01
_MISFIT_OF_ALL: Final = 0.15
"""How often outcomes follow no rule: when nearly nothing is removed, and how much more often when everything is."""
_ASKS_WHEN_PUSHED: Final = 0.25
"""Share of asking among the alternatives to a pushed decision, a priori."""
_REQUIRED: Final = np.log(np.array([0.04, 0.12, 0.84]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Counts of many removals and the rates they are compared with."""

    counts: Array
    """float[n_tests, 3]: target, other, asks."""
    base_rate: float
    ask_share: float
    """Share of asking among the outcomes of the baseline that are not the decision."""

    @classmethod
    def of(cls, tallies: Sequence[Tally], *, baseline: Tally, base_rate: float) -> "Outcomes":
        """Builds the counts of tests beside a baseline."""
        counts = np.array([[t.target, t.other, t.asks] for t in tallies], dtype=float).reshape(-1, 3)
        ask_share = (baseline.asks + 0.2) / (baseline.asks + baseline.other + 1.4)
        return cls(counts=counts, base_rate=base_rate, ask_share=ask_share)

    def log_plain(self) -> Array:
        """Returns float[n_tests]: log-likelihood when nothing in the set matters."""
        return self.log_rate(self.base_rate)

    def log_pushed(self, residual: float, rise: Array | float = 0.0) -> Array:
        """Returns float[n_tests]: log-likelihood when only a share `residual` of the rate survives the removal.

        What replaces a pushed decision is not known beforehand, so asking is not held against it. The log-odds of what
        survives are raised by `rise`, one for all tests or one a test.
        """
        excess = np.log(max(_ASKS_WHEN_PUSHED / self.ask_share, 1.0))
        log: Array = self.log_rate(shifted(residual * self.base_rate, rise)) + self.counts[:, 2] * excess
        return log

    def log_required(self) -> Array:
        """Returns float[n_tests]: log-likelihood when the set holds an input that the call requires."""
        log: Array = self.counts @ _REQUIRED
        return log

    def log_rate(self, rate: float | Array) -> Array:
        """Returns float[n_tests]: log-likelihood of a rate (one, or one a test) of the decision."""
        rate = np.clip(rate, 0.002, 0.998)
        target, other, asks = self.counts.T
        log: Array = (
            target * np.log(rate)
            + (other + asks) * np.log1p(-rate)
            + other * np.log1p(-self.ask_share)
            + asks * np.log(self.ask_share)
        )
        return log

    def soften(self, log: Array, share: Array | float = 0.0) -> Array:
        """Mixes likelihoods with the uniform one, which bounds what one odd test can say: less, the more it removed."""
        uniform = self.counts.sum(axis=1) * np.log(1 / 3)
        odd = misfit(share)
        softened: Array = np.logaddexp(np.log1p(-odd) + log, np.log(odd) + uniform)
        return softened


def misfit(share: Array | float) -> Array | float:
    """Returns the chance, elementwise, that the outcomes of removing a share of the pool follow no rule."""
    return _MISFIT + _MISFIT_OF_ALL * share**2


def shifted(rate: Array | float, shift: Array | float) -> Array:
    """Returns a rate with its log-odds shifted, elementwise."""
    rates: Array = np.asarray(expit(logit(rate) + shift))
    return rates
