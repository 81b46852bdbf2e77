import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from whyspan.analysis.statistics.evalues import log_e_untested, log_e_value
from whyspan.analysis.statistics.levels import Levels, gamma


def share_of_streams_that_ever_claim(rate_with: float, rate_without: float, *, kappa: float, alpha: float) -> float:
    """Draws null streams in an order that chases evidence; returns how many reach 1/alpha at any look."""
    rng = np.random.default_rng(7)
    streams, claimed = 300, 0
    for _ in range(streams):
        kb, nb, ka, na = int((rng.random(4) < rate_with).sum()), 4, 0, 0
        for _ in range(60):
            # Adaptive: the side whose share so far moves the evidence the way a cheater wants.
            if nb <= na + 3 and kb * (na + 1) <= (ka + 1) * nb:
                kb, nb = kb + int(rng.random() < rate_with), nb + 1
            else:
                ka, na = ka + int(rng.random() < rate_without), na + 1
            if log_e_value((ka, na), (kb, nb), kappa=kappa) >= math.log(1 / alpha):
                claimed += 1
                break
    return claimed / streams


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.35, 0.6, 0.9, 0.97])
def test_no_effect_is_claimed_at_most_alpha_however_one_looks(rate: float) -> None:
    assert share_of_streams_that_ever_claim(rate, rate, kappa=1.0, alpha=0.05) <= 0.05


@pytest.mark.parametrize(("rate", "kappa"), [(0.9, 0.75), (0.9, 0.5), (0.6, 0.5)])
def test_an_effect_at_the_minimum_is_claimed_at_most_alpha(rate: float, kappa: float) -> None:
    assert share_of_streams_that_ever_claim(rate, kappa * rate, kappa=kappa, alpha=0.05) <= 0.05


def test_shared_baseline_over_many_removals_keeps_false_discoveries_below_alpha() -> None:
    rng = np.random.default_rng(3)
    runs, with_a_false_claim = 200, 0
    for _ in range(runs):
        levels, kb, nb, claims = Levels(alpha=0.05), int((rng.random(6) < 0.6).sum()), 6, 0
        for _ in range(8):
            level, ka, na = levels.next(claims=claims), 0, 0
            while na < 25 and log_e_value((ka, na), (kb, nb)) < -math.log(level):
                ka, na = ka + int(rng.random() < 0.6), na + 1
            claims += log_e_value((ka, na), (kb, nb)) >= -math.log(level)
        with_a_false_claim += claims > 0
    assert with_a_false_claim / runs <= 0.05


@pytest.mark.parametrize("kappa", [1.0, 0.75, 0.5])
def test_evidence_never_grows_with_decisions_after_the_removal(kappa: float) -> None:
    for nb in (1, 4, 9, 25):
        for kb in range(nb + 1):
            for na in (1, 3, 8, 20):
                values = [log_e_value((ka, na), (kb, nb), kappa=kappa) for ka in range(na + 1)]
                assert all(later <= earlier + 1e-9 for earlier, later in pairwise(values))


@pytest.mark.parametrize("kappa", [1.0, 0.75, 0.3])
def test_null_likelihood_is_maximal_on_the_boundary(kappa: float) -> None:
    (ka, na), (kb, nb) = (1, 7), (8, 9)

    def negative_log(b: float) -> float:
        a = kappa * b
        return -(ka * math.log(a) + (na - ka) * math.log(1 - a) + kb * math.log(b) + (nb - kb) * math.log(1 - b))

    best = minimize_scalar(negative_log, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-10})
    free = log_e_value((ka, na), (kb, nb), kappa=1e-9)
    # With kappa ~ 0 the null holds everything, so the two denominators differ by the loss on the boundary.
    unrestricted = 1 * math.log(1 / 7) + 6 * math.log(6 / 7) + 8 * math.log(8 / 9) + 1 * math.log(1 / 9)
    assert log_e_value((ka, na), (kb, nb), kappa=kappa) - free == pytest.approx(unrestricted + best.fun, abs=1e-6)


def test_a_smaller_kappa_asks_for_more_evidence() -> None:
    values = [log_e_value((0, 5), (8, 8), kappa=kappa) for kappa in (1.0, 0.75, 0.5)]
    assert values == sorted(values, reverse=True)


def test_nothing_drawn_is_no_evidence() -> None:
    assert log_e_value((0, 0), (4, 4)) == 0.0
    assert log_e_value((0, 3), (0, 0)) == 0.0


def test_four_against_four_confirm_a_clean_cause_at_the_first_level() -> None:
    assert log_e_value((0, 4), (4, 4)) >= -math.log(Levels(alpha=0.05).next(claims=0))


def test_level_weights_sum_to_one() -> None:
    total = sum(gamma(t) for t in range(1, 20_000))
    assert 0.9999 < total <= 1.0


def test_discoveries_raise_later_levels_only_under_fdr() -> None:
    fdr, fwer = Levels(alpha=0.05), Levels(alpha=0.05, fwer=True)
    assert fdr.next(claims=0) == fwer.next(claims=0)
    assert fdr.next(claims=1) == pytest.approx(2 * fwer.next(claims=1))


@pytest.mark.parametrize("rate", [0.35, 0.6, 0.9, 1.0])
def test_testing_only_after_a_lucky_baseline_gains_nothing_on_average(rate: float) -> None:
    """The exact mean over all outcomes, for whoever nominates whenever the baseline makes that look worthwhile."""

    def chance(hits: int, draws: int) -> float:
        return math.comb(draws, hits) * rate**hits * (1 - rate) ** (draws - hits)

    mean = 0.0
    for kb in range(6):
        tested = sum(chance(ka, 8) * math.exp(log_e_value((ka, 8), (kb, 5))) for ka in range(9))
        mean += chance(kb, 5) * max(tested, math.exp(log_e_untested((kb, 5))))
    assert mean <= 1


def test_a_removal_that_was_not_drawn_has_no_evidence() -> None:
    assert log_e_untested((0, 0)) == 0
    assert all(log_e_untested((hits, 6)) < 0 for hits in range(7))
