"""Evidence that a removal lowers the rate of a decision, valid however and whenever one looks.

The e-value of "the rate without the pieces is at least kappa times the rate with them" is a mixture likelihood over
alternatives, fixed in advance, divided by the largest likelihood under that null (universal inference: Wasserman,
Ramdas and Balakrishnan 2020; for 2x2 tables cf. Turner, Ly and Grünwald 2024). Under any member of the null the ratio
is bounded by a non-negative martingale that starts at 1, so by Ville's inequality P(sup e >= 1/a) <= a, whatever the
order of the draws, the rule that stops them, or a later continuation.
"""

import math
from typing import Final

import numpy as np

from .logarithms import from_log, log_sum_exp

# Alternatives: rate with the pieces x share of that rate that survives the removal. Decisions worth explaining are
# mostly frequent and mostly end when their cause goes, so these corners carry more weight; others cost a few draws.
_RATES: Final = np.array([0.05, 0.12, 0.20, 0.28, 0.36, 0.45, 0.54, 0.63, 0.72, 0.80, 0.87, 0.93, 0.98, 0.997])
_RATE_WEIGHTS: Final = np.array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.5, 2.5, 4, 4])
_SURVIVORS: Final = np.array([0.01, 0.12, 0.33, 0.60])
_SURVIVOR_WEIGHTS: Final = np.array([0.45, 0.22, 0.22, 0.11])

_LOG_WEIGHTS: Final = (
    np.log(_RATE_WEIGHTS / _RATE_WEIGHTS.sum())[:, None] + np.log(_SURVIVOR_WEIGHTS / _SURVIVOR_WEIGHTS.sum())[None, :]
)
_LOG_WITH: Final = np.log(_RATES)[:, None]
_LOG_NOT_WITH: Final = np.log1p(-_RATES)[:, None]
_LOG_WITHOUT: Final = np.log(_RATES[:, None] * _SURVIVORS[None, :])
_LOG_NOT_WITHOUT: Final = np.log1p(-_RATES[:, None] * _SURVIVORS[None, :])


def log_e_value(without: tuple[int, int], baseline: tuple[int, int], *, kappa: float = 1.0) -> float:
    """Returns the natural logarithm of the e-value against "removing the pieces keeps >= kappa of the rate".

    Args:
        without: (decisions, draws) with the pieces removed, drawn after the removal was nominated.
        baseline: (decisions, draws) of the unchanged request; may be shared by any number of removals.
        kappa: in (0, 1]; 1 is "no decrease at all", less asks for a minimum effect.
    """
    (ka, na), (kb, nb) = without, baseline
    if na == 0 or nb == 0:
        return 0.0
    return log_alternative(without, baseline) - _log_null_maximum(ka, na, kb, nb, kappa)


def log_e_untested(baseline: tuple[int, int]) -> float:
    """Returns the log e-value of a removal that was never drawn, from the baseline alone: at most 0.

    A single claim may take it as 0, for it needs draws anyway. What is averaged or multiplied may not: whether a
    removal was put to the test at all has been decided on the same baseline, and a lucky one must not count twice.
    """
    hits, draws = baseline
    return log_alternative((0, 0), baseline) - _log_likelihood(hits, draws, hits / draws) if draws else 0.0


def log_alternative(without: tuple[int, int], baseline: tuple[int, int]) -> float:
    """Returns the log-likelihood of two counts under the mixture of alternatives, the numerator of the e-value."""
    (ka, na), (kb, nb) = without, baseline
    return log_sum_exp(
        _LOG_WEIGHTS + kb * _LOG_WITH + (nb - kb) * _LOG_NOT_WITH + ka * _LOG_WITHOUT + (na - ka) * _LOG_NOT_WITHOUT
    )


def _log_null_maximum(ka: int, na: int, kb: int, nb: int, kappa: float) -> float:
    """Largest log-likelihood over rates a >= kappa * b."""
    if ka * nb >= kappa * kb * na:
        return log_free_maximum(ka, na, kb, nb)
    return log_bound_maximum(ka, na, kb, nb, kappa)


def log_free_maximum(ka: int, na: int, kb: int, nb: int) -> float:
    """Returns the largest log-likelihood of two counts, whatever their rates are."""
    return _log_likelihood(ka, na, ka / na) + _log_likelihood(kb, nb, kb / nb)


def log_bound_maximum(ka: int, na: int, kb: int, nb: int, kappa: float) -> float:
    """Returns the largest log-likelihood where the first rate is kappa times the second: the root of a quadratic."""
    hits = ka + kb
    linear = hits * (1 + kappa) + (nb - kb) + kappa * (na - ka)
    b = (linear - math.sqrt(max(linear**2 - 4 * kappa * (na + nb) * hits, 0.0))) / (2 * kappa * (na + nb))
    return _log_likelihood(ka, na, kappa * b) + _log_likelihood(kb, nb, b)


def _log_likelihood(hits: int, draws: int, rate: float) -> float:
    log = 0.0
    if hits:
        log += hits * math.log(rate)
    if draws > hits:
        log += (draws - hits) * math.log1p(-rate)
    return log


def two_sided_e_value(changed: tuple[int, int], base: tuple[int, int]) -> float:
    """Returns the e-value against "both (hits, draws) have the same rate": the mean of those for less and for more."""
    return (from_log(log_e_value(changed, base)) + from_log(log_e_value(base, changed))) / 2
