"""Leave-one-out and ContextCite: what they draw, and what they name, also where there is nothing."""

import math
import random
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

import numpy as np
import pytest

from whyspan.analysis.attribution.methods import Scores
from whyspan.analysis.attribution.methods.contextcite import ABLATIONS, contextcite, lasso
from whyspan.analysis.attribution.methods.leave_one_out import BASELINE_DRAWS, DRAWS, leave_one_out
from whyspan.analysis.attribution.problem import Leaf, Outcome, Replies, Role, Round

Make: TypeAlias = Callable[..., list[Leaf]]
Rate: TypeAlias = Callable[[frozenset[int]], float]


def play(steps: Generator[Round, Replies, Scores], rate: Rate, *, seed: int = 0, allow: int = 10_000) -> Scores:
    rng = random.Random(seed)
    order = next(steps)
    while True:
        replies = []
        for draw in order:
            count = min(draw.count, allow)
            allow -= count
            hits = [rng.random() < rate(draw.removal) for _ in range(count)]
            replies.append(tuple(Outcome.TARGET if hit else Outcome.OTHER for hit in hits))
        try:
            order = steps.send(tuple(replies))
        except StopIteration as end:
            result: Scores = end.value
            return result


def without_seven(removed: frozenset[int]) -> float:
    return 0.0 if 7 in removed else 1.0


def methods(leaves: Sequence[Leaf]) -> list[Generator[Round, Replies, Scores]]:
    return [leave_one_out(leaves), contextcite(leaves, seed=1)]


@pytest.mark.parametrize("number", [0, 1])
def test_a_single_cause_of_a_stable_decision_is_named(number: int, make_leaves: Make) -> None:
    scores = play(methods(make_leaves(20))[number], without_seven)
    assert scores.named == 7
    assert scores.ranked[0] == 7
    assert scores.is_complete


def test_leave_one_out_costs_the_same_whatever_it_finds(make_leaves: Make) -> None:
    for rate in (without_seven, lambda removed: 1.0):
        assert play(leave_one_out(make_leaves(20)), rate).draws == BASELINE_DRAWS + 20 * DRAWS


def test_leave_one_out_misses_redundant_pieces_and_names_nothing_for_a_small_drop(make_leaves: Make) -> None:
    scores = play(leave_one_out(make_leaves(20)), lambda removed: 0.0 if {3, 7} <= removed else 1.0)
    assert scores.ranked == []
    assert scores.named is None


def test_leave_one_out_names_innocent_pieces_of_a_wavering_decision(make_leaves: Make) -> None:
    named = [play(leave_one_out(make_leaves(60)), lambda removed: 0.6, seed=s).named for s in range(40)]
    assert sum(n is not None for n in named) >= 20


def test_contextcite_asks_for_the_published_number_of_removals(make_leaves: Make) -> None:
    leaves = [*make_leaves(4, Role.SYSTEM), *make_leaves(16)]
    steps = contextcite(leaves, seed=0)
    order = next(steps)
    assert sum(draw.count for draw in order) == ABLATIONS
    removed = [len(draw.removal) for draw in order for _ in range(draw.count)]
    assert sum(removed) / len(removed) == pytest.approx(8, abs=1)
    assert not any(leaf < 4 for draw in order for leaf in draw.removal)


def test_contextcite_ranks_both_redundant_pieces_first(make_leaves: Make) -> None:
    scores = play(contextcite(make_leaves(12), seed=3), lambda removed: 0.0 if {2, 9} <= removed else 1.0)
    assert set(scores.ranked[:2]) == {2, 9}


@pytest.mark.parametrize("number", [0, 1])
def test_a_budget_that_ends_leaves_the_scores_incomplete(number: int, make_leaves: Make) -> None:
    scores = play(methods(make_leaves(20))[number], without_seven, allow=15)
    assert (scores.draws, scores.is_complete) == (15, False)


def test_nothing_drawn_names_nothing(make_leaves: Make) -> None:
    for steps in methods(make_leaves(5)):
        scores = play(steps, without_seven, allow=0)
        assert (scores.draws, scores.named) == (0, None)


def test_lasso_meets_the_optimality_conditions() -> None:
    """At the optimum the correlation with the residual is alpha for a used column and at most that for the others."""
    rng = np.random.default_rng(5)
    masks = (rng.random((64, 100)) < 0.5).astype(float)
    outcomes = (masks[:, 3] + 0.3 * masks[:, 8] + 0.1 * rng.random(64) > 0.7).astype(float)
    alpha = 0.01
    weights = lasso(masks, outcomes, alpha=alpha)
    scale = masks.std(axis=0)
    standard = (masks - masks.mean(axis=0)) / scale
    coefficients = weights * scale
    slope = standard.T @ (outcomes - outcomes.mean() - standard @ coefficients) / len(outcomes)
    used = np.abs(coefficients) > 1e-4
    assert used.any()
    assert np.max(np.abs(slope)) <= alpha + 1e-5
    assert slope[used] == pytest.approx(alpha * np.sign(coefficients[used]), abs=1e-5)


def test_lasso_ignores_a_column_that_never_changes() -> None:
    masks = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    weights = lasso(masks, np.array([0.0, 1.0, 0.0, 1.0]), alpha=0.01)
    assert weights[0] == 0
    assert math.isclose(weights[1], 0.98, abs_tol=1e-3)
