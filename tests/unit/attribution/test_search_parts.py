import itertools

import numpy as np
import pytest

from whyspan.analysis.attribution.design import choose_removals
from whyspan.analysis.attribution.ledger import BudgetEnded, Ledger
from whyspan.analysis.attribution.posterior import Belief, PoolPrior, update
from whyspan.analysis.attribution.priors import share_out, suspicion_weights
from whyspan.analysis.attribution.problem import Leaf, Options, Role, Tally
from whyspan.analysis.attribution.propagation import group_posterior
from whyspan.analysis.attribution.structures import Shape

BASELINE = Tally(target=9, other=1)


def believe(tests: dict[frozenset[int], Tally], *, leaves: int = 8) -> Belief:
    prior = PoolPrior(
        pool=tuple(range(leaves)),
        weights=np.full(leaves, 1 / leaves),
        any_cause=0.7,
        required=np.full(leaves, 0.05),
    )
    return update(prior, tests, baseline=BASELINE, base_rate=0.9)


def test_shapes_are_a_distribution() -> None:
    belief = believe({frozenset([1, 2]): Tally(other=2), frozenset([3]): Tally(target=1)})
    assert sum(belief.shapes.values()) == pytest.approx(1.0)
    assert np.all((belief.necessary >= 0) & (belief.necessary <= 1 + 1e-9))


def test_the_leaf_common_to_all_endings_is_suspected() -> None:
    tests = {
        frozenset([1, 2, 3]): Tally(other=2),
        frozenset([3, 4]): Tally(other=2),
        frozenset([1, 2, 4]): Tally(target=2),
    }
    belief = believe(tests)
    assert belief.necessary[3] > 0.8


def test_a_pair_that_ends_only_together_is_redundant() -> None:
    tests = {frozenset([a, 6]): Tally(target=2) for a in range(5)}
    tests |= {
        frozenset([5, 6]): Tally(other=3),
        frozenset([5, *range(5)]): Tally(target=2),
        frozenset([6]): Tally(target=2),
        frozenset([5]): Tally(target=2),
    }
    belief = believe(tests)
    assert set(belief.best_pair) == {5, 6}
    assert belief.shapes[Shape.EITHER] > 0.5


def test_asking_points_at_a_required_input_and_not_at_a_push() -> None:
    belief = believe({frozenset([2]): Tally(asks=2), frozenset([0, 1, 3, 4, 5, 6, 7]): Tally(target=2)})
    assert belief.required[2] > 0.8
    assert 2 not in belief.free


def test_tests_outside_the_pool_do_not_count() -> None:
    inside = {frozenset([1]): Tally(other=1)}
    assert np.array_equal(believe(inside).necessary, believe({**inside, frozenset([2, 99]): Tally(other=5)}).necessary)


def test_sets_of_one_round_differ_and_stay_in_the_pool() -> None:
    removals = choose_removals(believe({}, leaves=32), size=3, rng=np.random.default_rng(0))
    assert len(set(removals)) == len(removals) > 1
    assert all(removal <= frozenset(range(32)) for removal in removals)


def test_group_tests_find_the_positive() -> None:
    members = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1]], dtype=float)
    marginals, _ = group_posterior(np.full(4, 0.2), members, np.array([-4.0, -4.0, 4.0]))
    assert marginals.argmax() == 0
    assert marginals[0] > 0.9


def test_group_tests_agree_with_counting_every_set() -> None:
    rng = np.random.default_rng(7)
    prior = rng.uniform(0.05, 0.4, 8)
    members = (rng.random((7, 8)) < 0.4).astype(float)
    ratio = rng.choice([-2.0, 2.0], size=7)
    total, positive = 0.0, np.zeros(8)
    for items in map(np.array, itertools.product([0, 1], repeat=8)):
        weight = np.prod(np.where(items, prior, 1 - prior)) * np.exp(-ratio[members @ items > 0].sum())
        total, positive = total + weight, positive + weight * items
    marginals, log = group_posterior(prior, members, ratio)
    assert marginals == pytest.approx(positive / total, abs=0.1)
    assert log == pytest.approx(np.log(total), abs=0.3)


def test_a_round_is_cut_from_its_end_when_the_budget_is_short() -> None:
    ledger = Ledger(budget=3)
    steps = ledger.draw({frozenset(): 2, frozenset([1]): 4})
    order = next(steps)
    assert [draw.count for draw in order] == [2, 1]


def test_a_short_reply_is_recorded_and_ends_the_budget() -> None:
    ledger = Ledger(budget=100)
    steps = ledger.draw({frozenset([1]): 3})
    next(steps)
    with pytest.raises(BudgetEnded):
        steps.send(((),))
    assert ledger.draws == 0


def test_shared_rare_words_raise_suspicion() -> None:
    texts = ["pay invoice 4471 now", "the weather is fine", "an invoice", "an invoice"]
    leaves = [Leaf(text=text, message=0, role=Role.TOOL) for text in texts]
    weights = suspicion_weights(leaves, "pay(invoice=4471)", Options())
    assert weights.argmax() == 0
    assert weights[2] > weights[1]


def test_what_was_given_holds_the_same_share_however_many_pieces_it_has() -> None:
    for given_pieces in (1, 50):
        given = np.array([True] * given_pieces + [False] * 5)
        shared = share_out(np.arange(1.0, len(given) + 1), given)
        assert shared.sum() == pytest.approx(1.0)
        assert shared[given].sum() == pytest.approx(0.2)


def test_where_everything_was_given_only_the_words_count() -> None:
    shared = share_out(np.array([1.0, 3.0]), np.array([True, True]))
    assert shared == pytest.approx([0.25, 0.75])
