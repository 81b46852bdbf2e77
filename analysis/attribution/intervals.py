"""Intervals for rates and for their difference that stay valid under adaptive sampling and optional stopping.

Each is a confidence sequence: the rates whose likelihood is not below alpha times that of a Jeffreys mixture. The ratio
mixture/likelihood is a martingale under the true rates (Robbins 1970), so the true value is outside at *any* time with
probability at most alpha. They are wider than fixed-sample intervals, which are wrong when one looks while drawing.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

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

    Both arguments are (decisions, draws). The joint confidence set of the two rates is projected on their difference.
    """
    ll_without, ll_baseline = _log_likelihood(*without), _log_likelihood(*baseline)
    bound = _log_mixture(*without) + _log_mixture(*baseline) + np.log(alpha)
    inside = ll_baseline[:, None] + ll_without[None, :] >= bound
    drops = (_GRID[:, None] - _GRID[None, :])[inside]
    step = 2 * _GRID[1]
    low, high = max(-1.0, float(drops.min() - step)), min(1.0, float(drops.max() + step))
    return Interval(low=low, high=high, alpha=alpha)


def _log_likelihood(hits: int, draws: int) -> NDArray[np.float64]:
    log: NDArray[np.float64] = xlogy(hits, _GRID) + xlog1py(draws - hits, -_GRID)
    return log


def _log_mixture(hits: int, draws: int) -> float:
    return float(betaln(hits + 0.5, draws - hits + 0.5) - betaln(0.5, 0.5))
