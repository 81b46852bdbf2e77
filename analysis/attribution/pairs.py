"""How well each pair of leaves explains the tests."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from .evidence import TYPICAL, Evidence
from .structures import Array, Positions, Single

_LIMIT: Final = 120
"""Pairs are formed of the most suspicious leaves only, so that the cost stays bounded for long contexts."""
_GRADED: Final = ((3, 3, 1), (2, 3, 1), (3, 2, 1), (1, 3, 0), (3, 1, 0))
"""Needed pairs whose members alone leave more of the rate than both: residuals without the first, second, and both."""
_LOG_GRADED: Final = math.log(0.4 / len(_GRADED))
_LOG_SAME: Final = math.log(0.6)
"""Prior of the residual being the same whichever member of a needed pair is gone."""


def pair_positions(single: Array, evidence: Evidence) -> Positions:
    """Returns the ascending positions of the leaves that pairs are made of; `single` is float[n_pool], their logs."""
    if len(single) <= _LIMIT:
        return np.arange(len(single))
    # Redundant leaves look innocent alone, but they sit in every set that ended the decision.
    blamed = np.maximum(evidence.ended[TYPICAL], 0) @ evidence.members + 0.2 * (single - single.max())
    return np.sort(np.argsort(-blamed, kind="stable")[:_LIMIT])


def pair_logs(log_weights: Array, members: Array, evidence: Evidence) -> tuple[Array, Array, Array]:
    """Returns log prior + log-likelihood of the pairs: either and both by upper triangle, masked as a full square.

    Args:
        log_weights: float[m], the log prior of the leaves that pairs are made of.
        members: float[n_tests, m], their columns of `Evidence.members`.
        evidence: what the tests say.
    """
    m = len(log_weights)
    if m < 2:
        return np.zeros(0), np.zeros(0), np.full(m * m, -np.inf)
    upper = np.triu_indices(m, 1)
    unordered = (log_weights[:, None] + log_weights[None, :])[upper] + np.log(2)
    ordered = log_weights[:, None] - np.log(m - 1)
    either, both, masked = [], [], []
    by_rise = evidence.settings.astype(np.float32)
    for together, settings in zip(_together(members, evidence.ended), by_rise, strict=True):
        alone = [np.diag(t)[:, None] for t in together]
        for t, a, setting in zip(together, alone, settings, strict=True):
            either.append(setting + t[upper])
            both.append(setting + _LOG_SAME + (a + a.T - t)[upper])
            masked.append(setting + a - t)
        graded = np.logaddexp.reduce(settings) + _LOG_GRADED
        for first, second, rest in _GRADED:
            apart = alone[first] - together[first] + alone[second].T - together[second]
            both.append(graded + (apart + together[rest])[upper])
    square = _log_sums(masked) + ordered
    np.fill_diagonal(square, -np.inf)
    return _log_sums(either) + unordered, _log_sums(both) + unordered, square.ravel()


def _together(members: Array, ended: Array) -> Single:
    """Returns float[n_rises, n_residuals, m, m]: for each pair, the sum over the tests that removed both.

    In single precision, which is exact enough for sums of logarithms and several times as fast to work with.
    """
    tests = members.astype(np.float32)
    together: Single = np.tensordot(ended.astype(np.float32)[..., None, :] * tests.T, tests, axes=1)
    return together


def _log_sums(logs: Sequence[Single]) -> Array:
    """Returns elementwise the logarithm of the sum of arrays that are held as logarithms."""
    largest = np.maximum.reduce(logs)
    summed: Array = (largest + np.log(sum(np.exp(log - largest) for log in logs))).astype(np.float64)
    return summed
