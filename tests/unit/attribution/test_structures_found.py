"""Each kind of cause, in contexts where it is the only thing that matters."""

from collections.abc import Callable

import pytest

from whyspan.analysis.attribution.problem import Leaf, Options, Role, Round
from whyspan.analysis.attribution.result import Attribution, Kind, Stop

Make = Callable[..., list[Leaf]]
Runner = Callable[..., tuple[Attribution, list[Round]]]


def test_a_redundant_pair_is_one_claim(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(make_leaves(30), lambda removed: 0.05 if {4, 19} <= removed else 0.95)
    assert result.headline is not None
    assert result.headline.removal == {4, 19}
    assert result.headline.kind is Kind.REDUNDANT
    assert all(kept.rate >= 0.5 for _, kept in result.headline.members)


def test_three_copies_are_one_claim(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(make_leaves(20), lambda removed: 0.0 if {2, 9, 15} <= removed else 1.0)
    assert result.headline is not None
    assert result.headline.removal == {2, 9, 15}


def test_copies_in_the_prompt_and_in_a_result_are_found_together(make_leaves: Make, attribute_rate: Runner) -> None:
    leaves = [*make_leaves(6, Role.SYSTEM), *make_leaves(14)]
    result, _ = attribute_rate(leaves, lambda removed: 0.0 if {3, 12} <= removed else 1.0)
    assert result.headline is not None
    assert result.headline.removal == {3, 12}


def test_jointly_needed_pieces_are_both_named(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(make_leaves(20), lambda removed: 0.0 if removed & {5, 12} else 1.0)
    assert {claim.removal for claim in result.claims} == {frozenset([5]), frozenset([12])}
    assert {claim.kind for claim in result.claims} == {Kind.JOINT}


def test_a_required_input_does_not_take_the_headline_from_a_push(make_leaves: Make, attribute_rate: Runner) -> None:
    def rate(removed: frozenset[int]) -> float:
        return 0.02 if 3 in removed else (0.05 if 11 in removed else 0.95)

    result, _ = attribute_rate(make_leaves(20), rate, asks=lambda removed: 3 in removed, options=Options(full=True))
    assert result.headline is not None
    assert result.headline.removal == {11}
    kinds = {claim.removal: claim.kind for claim in result.claims}
    assert kinds[frozenset([3])] is Kind.REQUIRED


def test_a_cause_after_which_the_model_only_asks_is_found(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(
        make_leaves(20), lambda removed: 0.0 if 6 in removed else 1.0, asks=lambda removed: bool(removed)
    )
    assert result.headline is not None
    assert result.headline.removal == {6}


def test_a_masked_cause_is_named_and_a_suppressor_that_was_seen_too(make_leaves: Make, attribute_rate: Runner) -> None:
    named, seen = 0, 0
    for cause, suppressor in ((4, 8), (9, 2), (1, 11), (6, 7), (10, 3), (3, 5), (8, 0), (2, 9)):

        def rate(removed: frozenset[int], cause: int = cause, suppressor: int = suppressor) -> float:
            return 0.0 if cause in removed and suppressor not in removed else 1.0

        result, _ = attribute_rate(make_leaves(12), rate)
        named += result.headline is not None and result.headline.removal == {cause}
        masked = [claim for claim in result.claims if claim.kind is Kind.MASKED]
        seen += len(masked)
        assert all(claim.suppressors == {suppressor} for claim in masked)
    assert named >= 6
    assert seen >= 1


def test_a_diffuse_cause_comes_with_a_dose_table(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(make_leaves(30), lambda removed: 1 / (1 + 10 ** (2.2 * len(removed) / 30 - 1.1)))
    assert result.headline is not None
    assert result.headline.kind is Kind.DIFFUSE
    assert [dose.share for dose in result.dose] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert result.dose[0].tally.rate > result.dose[-1].tally.rate


@pytest.mark.parametrize("role", list(Role))
def test_a_cause_is_found_wherever_the_model_reads(make_leaves: Make, attribute_rate: Runner, role: Role) -> None:
    others = [leaf for other in Role if other is not role for leaf in make_leaves(4, other)]
    leaves = [*others, *make_leaves(4, role)]
    result, _ = attribute_rate(leaves, lambda removed: 0.0 if 22 in removed else 1.0)
    assert result.headline is not None
    assert result.headline.removal == {22}


def test_full_mode_names_every_needed_piece(make_leaves: Make, attribute_rate: Runner) -> None:
    exact = 0
    for seed in range(8):
        result, _ = attribute_rate(
            make_leaves(24),
            lambda removed: 0.05 if removed & {2, 9, 17} else 0.95,
            options=Options(full=True),
            seed=seed,
        )
        exact += {claim.removal for claim in result.claims} == {frozenset([2]), frozenset([9]), frozenset([17])}
    assert exact >= 6


def test_a_partial_cause_is_found_in_noise(make_leaves: Make, attribute_rate: Runner) -> None:
    hits = 0
    for seed in range(10):
        result, _ = attribute_rate(make_leaves(20), lambda removed: 0.3 if 7 in removed else 0.9, seed=seed)
        hits += result.headline is not None and result.headline.removal == {7}
    assert hits >= 7


def test_a_suspected_leaf_is_looked_at_first_and_not_believed(make_leaves: Make, attribute_rate: Runner) -> None:
    guess = Options(guess=frozenset([13]))
    right, _ = attribute_rate(make_leaves(60), lambda removed: 0.0 if 13 in removed else 1.0, options=guess)
    blind, _ = attribute_rate(make_leaves(60), lambda removed: 0.0 if 13 in removed else 1.0)
    wrong, _ = attribute_rate(make_leaves(60), lambda removed: 0.0 if 40 in removed else 1.0, options=guess)
    assert right.draws < blind.draws
    assert wrong.headline is not None
    assert wrong.headline.removal == {40}


def test_nulls_are_claimed_at_most_alpha(make_leaves: Make, attribute_rate: Runner) -> None:
    claimed = 0
    for seed in range(40):
        result, _ = attribute_rate(make_leaves(12), lambda removed: 0.5, seed=seed)
        claimed += bool(result.claims)
        assert result.stop in (Stop.NO_CAUSE, Stop.UNRESOLVED, Stop.BUDGET) or result.claims
    assert claimed <= 3


def test_growth_with_the_number_of_leaves_is_logarithmic(make_leaves: Make, attribute_rate: Runner) -> None:
    small, _ = attribute_rate(make_leaves(30), lambda removed: 0.0 if 20 in removed else 1.0)
    large, _ = attribute_rate(make_leaves(480), lambda removed: 0.0 if 320 in removed else 1.0)
    assert large.draws <= 1.7 * small.draws


def test_a_few_leaves_that_all_matter_are_not_called_diffuse(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(make_leaves(3), lambda removed: 0.95 - 0.3 * len(removed))
    assert all(claim.kind is not Kind.DIFFUSE for claim in result.claims)
    assert result.draws <= Options().budget


def test_a_decision_that_comes_back_when_little_is_left_is_explained(make_leaves: Make, attribute_rate: Runner) -> None:
    def rate(removed: frozenset[int]) -> float:
        return 0.95 if 7 not in removed else 0.1 + 0.85 * (len(removed) / 20) ** 2

    named = 0
    for seed in range(10):
        result, _ = attribute_rate(make_leaves(20), rate, seed=seed, options=Options(seed=seed))
        named += result.headline is not None and result.headline.removal == {7}
    assert named >= 9


def test_a_piece_with_a_large_effect_alone_is_no_copy(make_leaves: Make, attribute_rate: Runner) -> None:
    def rate(removed: frozenset[int]) -> float:
        return 0.95 / (1 + 4.0 * (4 in removed) + 0.2 * (9 in removed)) * (0.2 if {4, 9} <= removed else 1.0)

    copies, named = 0, 0
    for seed in range(10):
        result, _ = attribute_rate(make_leaves(14), rate, seed=seed, options=Options(seed=seed))
        copies += any(claim.kind is Kind.REDUNDANT for claim in result.claims)
        named += result.headline is not None and result.headline.removal == {4}
    assert copies == 0
    assert named >= 9


def test_a_suspect_that_cannot_be_proven_is_left_open(make_leaves: Make, attribute_rate: Runner) -> None:
    unresolved = []
    for seed in range(8):
        options = Options(seed=seed, budget=1000)
        result, _ = attribute_rate(
            make_leaves(4), lambda removed: 0.3 if 2 in removed else 0.45, seed=seed, options=options
        )
        assert all(2 in claim.removal for claim in result.claims)
        unresolved += [result] if result.stop is Stop.UNRESOLVED else []
    assert unresolved
    assert all(result.open and not result.claims for result in unresolved)


def test_a_small_effect_does_not_end_the_search_for_a_headline(make_leaves: Make, attribute_rate: Runner) -> None:
    def rate(removed: frozenset[int]) -> float:
        return 0.98 * (0.6 if 3 in removed else 1.0) * (0.1 if 8 in removed else 1.0)

    named = 0
    for seed in range(8):
        result, _ = attribute_rate(make_leaves(12), rate, seed=seed, options=Options(seed=seed, guess=frozenset([3])))
        named += result.headline is not None and result.headline.removal == {8}
    assert named >= 7


def test_thorough_mode_looks_longer_before_it_says_that_there_is_no_cause(
    make_leaves: Make, attribute_rate: Runner
) -> None:
    def draws(*, thorough: bool) -> int:
        runs = (
            attribute_rate(make_leaves(20), lambda _: 0.8, seed=s, options=Options(seed=s, thorough=thorough))[0]
            for s in range(6)
        )
        return sum(result.draws for result in runs)

    assert draws(thorough=True) > 1.2 * draws(thorough=False)
