"""How the error rate is shared among the removals that are put to the test, in the order they are nominated.

e-LOND (Xu and Ramdas 2024): the t-th nominated removal is claimed when its e-value reaches 1/alpha_t, with
alpha_t = alpha * gamma_t * (claims before it + 1) and the gammas summing to 1. The false discovery rate is then at most
alpha at any stopping time, under any dependence between the tests. Without the factor the family-wise error is.
"""

import math
from typing import Final

_FIRST: Final = 0.57
"""Share of the first nomination, which usually is the only one: four misses in a row then suffice against 7 of 8."""


def admission_level(number: int, alpha: float) -> float:
    """Returns the level of the `number`-th lesson (from 1) of a series that may be admitted: alpha / (j (j + 1)).

    These sum to alpha however long the series gets, so that is a bound on the chance that any of them is wrong.
    """
    return alpha / (number * (number + 1))


def gamma(t: int) -> float:
    """Returns the weight of the t-th nomination (t >= 1); the weights of all t sum to 1."""
    return _FIRST if t == 1 else (1 - _FIRST) * 6 / (math.pi * (t - 1)) ** 2


class Levels:
    """Hands out the level of each next nomination."""

    def __init__(self, *, alpha: float, fwer: bool = False) -> None:
        self._alpha = alpha
        self._fwer = fwer
        self._nominated = 0

    def next(self, *, claims: int) -> float:
        """Returns the level of a new nomination, given the number of claims made before it."""
        self._nominated += 1
        return self._alpha * gamma(self._nominated) * (1 if self._fwer else claims + 1)
