"""A guess is a prior: it moves what is looked at first, and has no part in what is claimed."""

from collections.abc import Callable
from statistics import fmean

import pytest

from whyspan.analysis.attribution.problem import Leaf, Options, Round
from whyspan.analysis.attribution.result import Attribution

Make = Callable[..., list[Leaf]]
Runner = Callable[..., tuple[Attribution, list[Round]]]
SEEDS = range(24)
ALPHA = Options().alpha
CAUSE, INNOCENT = 23, 8


@pytest.fixture
def explained(make_leaves: Make, attribute_rate: Runner) -> Callable[..., list[Attribution]]:
    """Explains the same decision with a guess, once a seed."""

    def explain(guess: set[int], *, without: float, rate: float = 0.9) -> list[Attribution]:
        return [
            attribute_rate(
                make_leaves(40),
                lambda removed: without if CAUSE in removed else rate,
                options=Options(guess=frozenset(guess)),
                seed=seed,
            )[0]
            for seed in SEEDS
        ]

    return explain


def draws(results: list[Attribution]) -> float:
    return fmean(result.draws for result in results)


def test_a_right_guess_saves_draws_and_a_wrong_one_costs_little(explained: Callable[..., list[Attribution]]) -> None:
    none, right, wrong = (explained(guess, without=0.1) for guess in (set(), {CAUSE}, {INNOCENT}))
    assert draws(right) < 0.9 * draws(none)
    assert draws(wrong) < 1.2 * draws(none)
    for results in (none, right, wrong):
        named = [r.headline is not None and r.headline.removal == {CAUSE} for r in results]
        assert sum(named) >= len(SEEDS) - 2


def test_a_guess_where_there_is_no_cause_is_claimed_no_more_often_than_alpha(
    explained: Callable[..., list[Attribution]],
) -> None:
    results = [r for rate in (0.6, 0.9, 1.0) for r in explained({INNOCENT}, without=rate, rate=rate)]
    assert sum(bool(result.claims) for result in results) <= ALPHA * len(results)
    assert any(any(INNOCENT in tested.removal for tested in result.tested) for result in results)


def test_a_claim_on_what_was_guessed_needs_the_same_evidence(explained: Callable[..., list[Attribution]]) -> None:
    claims = [claim for result in explained({CAUSE}, without=0.1) for claim in result.claims]
    assert claims
    assert all(claim.e_value >= 1 / claim.alpha_t for claim in claims)
