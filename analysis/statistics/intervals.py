"""Intervals for rates and for their difference that stay valid under adaptive sampling and optional stopping.

Each is a confidence sequence: the rates whose likelihood is not below alpha times that of a Jeffreys mixture. The ratio
mixture/likelihood is a martingale under the true rates (Robbins 1970), so the true value is outside at *any* time with
probability at most alpha. They are wider than fixed-sample intervals, which are wrong when one looks while drawing.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from .evalues import log_alternative

LOWER_SHARE: Final = 0.8
"""Share of an interval's error rate that its lower end may use."""
_GRID: Final = np.linspace(0.0, 1.0, 401)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A closed interval and the error rate it stands for."""

    low: float
    high: float
    alpha: float


def rate_interval(hits: int, draws: int, *, alpha: float) -> Interval:
    """Returns the interval of one rate, within [0, 1]."""
    inside = _GRID[_log_likelihood(hits, draws) >= _log_mixture(hits, draws) + np.log(alpha)]
    step = _GRID[1]
    low, high = max(0.0, float(inside.min() - step)), min(1.0, float(inside.max() + step))
    return Interval(low=low, high=high, alpha=alpha)


def drop_interval(without: tuple[int, int], baseline: tuple[int, int], *, alpha: float) -> Interval:
    """Returns the interval of (rate with the pieces) - (rate without them), within [-1, 1].

    Both arguments are (decisions, draws). The lower end is the largest drop d for which the e-value against "the drop
    is at most d", with the same alternatives as the claim's own, reaches its level: a claim's interval excludes zero.
    It takes LOWER_SHARE of alpha; the upper end, which nobody claims anything with, takes the rest.
    """
    ll_without, ll_baseline = _log_likelihood(*without), _log_likelihood(*baseline)
    general = _log_mixture(*without) + _log_mixture(*baseline)
    favoured = np.logaddexp(log_alternative(without, baseline) + np.log(0.9), general + np.log(0.1))
    low = _largest_excluded_drop(ll_without, ll_baseline, favoured + np.log(LOWER_SHARE * alpha))
    inside = ll_baseline[:, None] + ll_without[None, :] >= general + np.log((1 - LOWER_SHARE) * alpha)
    high = min(1.0, float((_GRID[:, None] - _GRID[None, :])[inside].max() + 2 * _GRID[1]))
    return Interval(low=low, high=high, alpha=alpha)


def _largest_excluded_drop(ll_without: NDArray[np.float64], ll_baseline: NDArray[np.float64], bound: float) -> float:
    """Returns the largest d on the grid such that no two rates with a drop of at most d are likelier than `bound`."""
    last = len(_GRID) - 1
    best_above = np.maximum.accumulate(ll_without[::-1])[::-1]

    def likeliest(step: int) -> float:
        smallest_without = np.arange(last + 1) - step
        fits = smallest_without <= last
        return float((ll_baseline[fits] + best_above[np.maximum(smallest_without[fits], 0)]).max())

    # Allowing a larger drop only adds pairs of rates, so the likelihood grows with the step.
    steps = range(-last, last + 1)
    excluded = bisect_right(steps, bound, key=likeliest)
    return float(steps[excluded - 1] * _GRID[1]) if excluded else -1.0


def _log_likelihood(hits: int, draws: int) -> NDArray[np.float64]:
    log: NDArray[np.float64] = xlogy(hits, _GRID) + xlog1py(draws - hits, -_GRID)
    return log


def _log_mixture(hits: int, draws: int) -> float:
    return float(betaln(hits + 0.5, draws - hits + 0.5) - betaln(0.5, 0.5))
