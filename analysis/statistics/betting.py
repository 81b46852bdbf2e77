"""Evidence about a mean of bounded numbers, by betting against it: valid at every look, for any distribution.

Somebody who starts with one coin and bets on "the mean is above the margin" cannot, on average, get richer when it is
not. So the wealth is an e-value: by Ville's inequality the chance that it ever reaches 1/a is at most a, whatever rule
stops the bets and however the numbers depend on the past. Betting a mixture of fixed shares needs no tuning.
Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 2024.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SHARES: Final = np.array([*(k / 20 for k in range(1, 20)), 0.99])
"""Shares of the wealth that are staked each time, equally weighted. The largest keeps a total loss from being final."""
_STEP: Final = 0.01
_MEANS: Final = np.arange(-1 + _STEP, 1, _STEP)
"""Means that an interval is made of, in steps of a hundredth; no mean is excluded that lies between two of them."""


def log_e_above(blocks: Sequence[float], *, margin: float = 0.0) -> float:
    """Returns the natural logarithm of the e-value against "the mean is at most `margin`".

    Args:
        blocks: numbers in [-1, 1], in the order in which they were drawn.
        margin: in (-1, 1).
    """
    return float(_log_wealth(blocks, np.array([margin]))[0])


def log_e_below(blocks: Sequence[float], *, margin: float = 0.0) -> float:
    """Returns the natural logarithm of the e-value against "the mean is at least `-margin`"."""
    return log_e_above([-d for d in blocks], margin=margin)


def mean_interval(blocks: Sequence[float], *, alpha: float = 0.05) -> tuple[float, float]:
    """Returns an interval of the mean that at any time leaves it out with probability at most alpha.

    The blocks are numbers in [-1, 1]; without blocks the interval is all of that.
    """
    needed = math.log(2 / alpha)
    low = _largest_excluded(blocks, needed)
    high = -_largest_excluded([-d for d in blocks], needed)
    return low, high


def _largest_excluded(blocks: Sequence[float], needed: float) -> float:
    excluded = _MEANS[_log_wealth(blocks, _MEANS) >= needed]
    return float(excluded.max()) if len(excluded) else -1.0


def _log_wealth(blocks: Sequence[float], margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns log wealth, float[n_margins]; in logarithms because a long series of wins overflows otherwise."""
    numbers = np.asarray(blocks, dtype=float)
    if np.any(np.abs(numbers) > 1):
        raise ValueError("a block lies outside [-1, 1]")
    gains = (numbers[None, :] - margins[:, None]) / (1 + margins[:, None])
    logs = np.log1p(_SHARES[None, :, None] * gains[:, None, :]).sum(axis=2)
    largest = logs.max(axis=1)
    wealth: NDArray[np.float64] = largest + np.log(np.exp(logs - largest[:, None]).mean(axis=1))
    return wealth
