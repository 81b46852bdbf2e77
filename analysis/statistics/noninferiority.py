"""Evidence that a change keeps what was right: the mirror image of the evidence that it lowers a rate.

Both look at pairs of counts, with and without the change. They may be pooled over cases as long as every case is
drawn equally often in each arm: for case rates p_1 … p_m a likelihood ratio's factors have the product
prod_i (b + (a - b) p_i) in expectation, which by the inequality of the means is at most (b + (a - b) mean(p))^m, that
of one common rate. So a pooled e-value stays an e-value about the mean rates, at the end of every full round.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from .evalues import log_bound_maximum, log_e_value, log_free_maximum
from .logarithms import log_sum_exp

_RATES: Final = np.array([0.3, 0.5, 0.65, 0.78, 0.87, 0.93, 0.97, 0.99, 0.998])
_WEIGHTS: Final = np.array([1, 1, 1, 1, 1.5, 2, 3, 4, 5.5])
"""Alternatives: the change keeps the rate, which for decisions that were right is mostly high."""
_LOG_WEIGHTS: Final = np.log(_WEIGHTS / _WEIGHTS.sum())


def log_e_keeps(changed: tuple[int, int], base: tuple[int, int], *, share: float) -> float:
    """Returns the natural logarithm of the e-value against "the change keeps at most `share` of the rate".

    Args:
        changed: (right decisions, draws) with the change.
        base: (right decisions, draws) without it.
        share: in (0, 1); a high e-value shows that more than this share of the rate is kept.

    Universal inference, as in `evalues`: a mixture fixed in advance over the best fit of the null.
    """
    (ka, na), (kb, nb) = changed, base
    if na == 0 or nb == 0:
        return 0.0
    hits, misses = ka + kb, na + nb - ka - kb
    terms = _LOG_WEIGHTS + hits * np.log(_RATES) + misses * np.log1p(-_RATES)
    mixture = log_sum_exp(terms)
    if ka * nb <= share * kb * na:
        return mixture - log_free_maximum(ka, na, kb, nb)
    return mixture - log_bound_maximum(ka, na, kb, nb, share)


def log_e_breaks(pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]], *, share: float) -> float:
    """Returns the natural logarithm of the e-value against "every case keeps at least `share` of its rate".

    `pairs` holds ((right decisions, draws) with the change, the same without it) of each case. The mean of e-values is
    one whatever their dependence (Vovk and Wang 2021), so the cases may share anything.
    """
    logs = [log_e_value(changed, base, kappa=share) for changed, base in pairs]
    return log_sum_exp(logs) - math.log(len(logs)) if logs else 0.0
