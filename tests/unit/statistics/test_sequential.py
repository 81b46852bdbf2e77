import random

import pytest

from whyspan.analysis.statistics.sequential import Answer, RateTest

RUNS = 2_000
BATCH = 8
BUDGET = 200


def run_once(test: RateTest, rate: float, rng: random.Random) -> Answer:
    hits = draws = 0
    while test.answer(hits, draws) is Answer.OPEN and draws < BUDGET:
        hits += sum(rng.random() < rate for _ in range(BATCH))
        draws += BATCH
    return test.answer(hits, draws)


def share(test: RateTest, rate: float, answer: Answer, seed: int = 0) -> float:
    rng = random.Random(seed)
    return sum(run_once(test, rate, rng) is answer for _ in range(RUNS)) / RUNS


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.03, 0.05])
def test_every_allowed_rate_fails_at_random_in_at_most_one_run_of_a_hundred(rate: float) -> None:
    assert share(RateTest(max_rate=0.05), rate, Answer.FAIL) <= 0.01


@pytest.mark.parametrize("rate", [0.2, 0.3, 0.5])
def test_a_bad_rate_passes_in_at_most_one_run_of_twenty(rate: float) -> None:
    assert share(RateTest(max_rate=0.05), rate, Answer.PASS) <= 0.05


@pytest.mark.parametrize("max_rate", [0.01, 0.05, 0.1, 0.3, 0.6, 0.9])
def test_error_rates_hold_for_any_allowed_rate(max_rate: float) -> None:
    test = RateTest(max_rate=max_rate)
    assert share(test, max_rate, Answer.FAIL) <= 0.015  # the bound plus two standard errors of 2,000 runs
    assert share(test, test.bad, Answer.PASS) <= 0.06


def test_a_good_fix_is_never_inconclusive_within_the_default_budget() -> None:
    assert share(RateTest(max_rate=0.05), 0.01, Answer.OPEN) == 0


def test_clear_cases_end_early() -> None:
    test = RateTest(max_rate=0.05)
    assert test.answer(0, 16) is Answer.PASS
    assert test.answer(4, 4) is Answer.FAIL


def test_nothing_is_decided_before_the_first_draw() -> None:
    assert RateTest(max_rate=0.05).answer(0, 0) is Answer.OPEN


def test_draws_to_pass_says_when_a_run_without_events_passes() -> None:
    test = RateTest(max_rate=0.05)
    more = test.draws_to_pass(1, 8)
    assert test.answer(1, 8 + more) is Answer.PASS
    assert test.answer(1, 8 + more - 1) is Answer.OPEN


@pytest.mark.parametrize("max_rate", [0.0, 1.0, -0.1, 1.5])
def test_a_rate_that_is_no_share_is_refused(max_rate: float) -> None:
    with pytest.raises(ValueError, match="max_rate"):
        RateTest(max_rate=max_rate)
