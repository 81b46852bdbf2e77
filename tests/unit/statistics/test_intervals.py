import math

import numpy as np
import pytest

from whyspan.analysis.statistics.evalues import log_e_value
from whyspan.analysis.statistics.intervals import drop_interval, rate_interval


@pytest.mark.parametrize(("with_rate", "without_rate"), [(0.9, 0.1), (0.6, 0.5), (0.95, 0.95), (1.0, 0.0)])
def test_drop_is_covered_at_every_look(with_rate: float, without_rate: float) -> None:
    rng = np.random.default_rng(11)
    missed, streams = 0, 60
    for _ in range(streams):
        kb = ka = 0
        for n in range(1, 21):
            kb, ka = kb + int(rng.random() < with_rate), ka + int(rng.random() < without_rate)
            interval = drop_interval((ka, n), (kb, n), alpha=0.1)
            if not interval.low <= with_rate - without_rate <= interval.high:
                missed += 1
                break
    assert missed / streams <= 0.1


def test_more_draws_narrow_the_interval() -> None:
    few, many = drop_interval((1, 5), (5, 5), alpha=0.05), drop_interval((20, 100), (100, 100), alpha=0.05)
    assert many.high - many.low < few.high - few.low
    assert many.low > 0.59


def test_rate_interval_holds_the_estimate_and_stays_in_range() -> None:
    for hits, draws in ((0, 4), (4, 4), (3, 10)):
        interval = rate_interval(hits, draws, alpha=0.05)
        assert 0 <= interval.low <= hits / draws <= interval.high <= 1


def test_what_is_claimed_has_an_interval_without_zero() -> None:
    for kb, nb in ((5, 5), (8, 9), (14, 40)):
        for na in range(1, 40):
            for ka in range(na + 1):
                if log_e_value((ka, na), (kb, nb)) >= math.log(30):
                    assert drop_interval((ka, na), (kb, nb), alpha=0.05).low > 0
