import math
from collections.abc import Sequence

import numpy as np
import pytest

from whyspan.analysis.statistics.multiplicity import e_bh_level


def claimed(e_values: Sequence[float], alpha: float = 0.05) -> int:
    level = e_bh_level([math.log(e) for e in e_values], alpha=alpha)
    return sum(e >= 1 / level for e in e_values)


@pytest.mark.parametrize(
    ("e_values", "expected"),
    [
        ([20.0], 1),
        ([19.9], 0),
        ([40.0, 20.0], 2),
        ([39.0, 1.0], 0),
        ([20.0] * 10, 10),
        ([200.0, *[1.0] * 9], 1),
        ([100.0, 100.0, *[1.0] * 8], 2),
    ],
)
def test_as_many_are_claimed_as_are_large_enough_together(e_values: list[float], expected: int) -> None:
    assert claimed(e_values) == expected


def test_the_share_of_false_claims_stays_below_alpha_for_dependent_e_values() -> None:
    """Nulls that share half of their luck, beside two true effects that are always found."""
    rng = np.random.default_rng(2)
    shares = []
    for _ in range(4_000):
        common = rng.normal(size=1)
        nulls = np.exp(2 * (0.7 * common + 0.714 * rng.normal(size=18)) - 2)
        level = e_bh_level(np.log([1e9, 1e9, *nulls]).tolist(), alpha=0.2)
        false = int((nulls >= 1 / level).sum())
        shares.append(false / (false + 2))
    assert np.mean(shares) <= 0.2


def test_no_e_values_need_no_level() -> None:
    assert e_bh_level([], alpha=0.05) == 0.05
