"""Many hypotheses at once: which e-values are large enough when all of them were looked at."""

import math
from collections.abc import Sequence


def e_bh_level(log_e_values: Sequence[float], *, alpha: float) -> float:
    """Returns the level whose inverse an e-value must reach to be claimed.

    e-BH (Wang and Ramdas, False discovery rate control with e-values, JRSS B 2022): of n e-values the k largest are
    claimed, for the largest k whose k-th is at least n / (alpha k). The expected share of false claims is at most alpha
    whatever the dependence between the e-values. When none is claimed, the level is that of a single one: alpha / n.
    """
    count = len(log_e_values)
    ranked = sorted(log_e_values, reverse=True)
    claimed = (k for k, log_e in enumerate(ranked, 1) if log_e >= math.log(count / (alpha * k)))
    return alpha * max(claimed, default=1) / max(count, 1)
