"""Evidence about a bounded mean: the textbook formula, extreme series, and the coverage of the interval."""

import math
import random

import pytest

from whyspan.analysis.statistics.betting import log_e_above, log_e_below, mean_interval

GRID = [*(k / 20 for k in range(1, 20)), 0.99]


@pytest.mark.parametrize("margin", [0.0, 0.1, -0.3])
def test_the_e_value_is_the_mean_wealth_of_fixed_bets(margin: float) -> None:
    blocks = [0.3, -0.2, 1.0, 0.0, -1.0, 0.7]
    wealth = [1.0] * len(GRID)
    for d in blocks:
        wealth = [w * (1 + share * (d - margin) / (1 + margin)) for w, share in zip(wealth, GRID, strict=True)]
    assert math.exp(log_e_above(blocks, margin=margin)) == pytest.approx(sum(wealth) / len(wealth))


def test_without_blocks_there_is_no_evidence() -> None:
    assert log_e_above([]) == 0.0
    assert mean_interval([]) == (-1.0, 1.0)


def test_long_series_of_wins_and_losses_stay_finite() -> None:
    assert log_e_above([1.0] * 5000) > 3000
    assert math.isfinite(log_e_above([-1.0] * 5000))
    assert log_e_below([-1.0] * 5000) == log_e_above([1.0] * 5000)


def test_a_number_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="outside"):
        log_e_above([0.5, 1.5])


def test_the_interval_leaves_the_mean_out_at_most_as_often_as_it_says() -> None:
    rng = random.Random(5)
    misses = 0
    for _ in range(200):
        blocks = [rng.random() ** 2 for _ in range(60)]
        looks = (mean_interval(blocks[:n], alpha=0.2) for n in (5, 10, 20, 40, 60))
        misses += any(not low <= 1 / 3 <= high for low, high in looks)
    assert misses / 200 <= 0.2


def test_the_interval_shrinks_around_a_clear_mean() -> None:
    low, high = mean_interval([0.6, 0.4] * 50)
    assert 0.35 < low < 0.5 < high < 0.65
