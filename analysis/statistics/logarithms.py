"""Sums of numbers that are only held as logarithms, since likelihoods and long series of wins leave the floats."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LARGEST = 700.0


def log_sum_exp(logs: ArrayLike) -> float:
    """Returns the logarithm of the sum of the numbers with these logarithms."""
    terms: NDArray[np.float64] = np.asarray(logs, dtype=float)
    largest = float(terms.max())
    return largest + math.log(float(np.exp(terms - largest).sum()))


def from_log(log: float) -> float:
    """Returns a number from its logarithm, as large as a number can be where it is larger."""
    return math.exp(min(log, _LARGEST))
