"""Change points: found where the rate changes, and not where it does not."""

import random
from datetime import datetime, timedelta

import pytest

from whyspan.analysis.trend import CHANGE_ALPHA, find_changes

MONDAY = datetime(2026, 1, 5)  # noqa: DTZ001 the store's times are UTC without a zone


def series(*rates: float, n: int = 100, seed: int = 0) -> list[tuple[datetime, int, int]]:
    rng = random.Random(seed)
    return [
        (MONDAY + timedelta(weeks=week), sum(rng.random() < rate for _ in range(n)), n)
        for week, rate in enumerate(rates)
    ]


@pytest.mark.parametrize("at", [1, 3, 7])
def test_a_change_is_found_where_it_is(at: int) -> None:
    (change,) = find_changes(series(*[0.1] * at, *[0.5] * (8 - at)))
    assert change.start == MONDAY + timedelta(weeks=at)
    assert change.before == pytest.approx(0.1, abs=0.1)
    assert change.after == pytest.approx(0.5, abs=0.1)
    assert change.p_value < CHANGE_ALPHA


def test_there_and_back_are_two_changes() -> None:
    found = find_changes(series(*[0.1] * 4, *[0.8] * 3, *[0.1] * 4))
    assert [(c.start - MONDAY).days // 7 for c in found] == [4, 7]


def test_a_rate_that_stays_has_changes_as_seldom_as_promised() -> None:
    false_alarms = sum(bool(find_changes(series(*[0.3] * 12, n=40, seed=seed))) for seed in range(400))
    assert false_alarms / 400 <= 2 * CHANGE_ALPHA


@pytest.mark.parametrize("rates", [(), (0.3,), (0.0, 0.0, 0.0), (1.0, 1.0)])
def test_little_or_constant_data_has_no_change(rates: tuple[float, ...]) -> None:
    assert find_changes(series(*rates)) == []
