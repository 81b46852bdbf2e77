"""Where one call gives many samples, the search takes them: fewer calls, weaker effects, the same guarantee."""

from collections.abc import Callable

import pytest

from whyspan.analysis.attribution.problem import Leaf, Options, Round
from whyspan.analysis.attribution.result import Attribution, Stop

Make = Callable[..., list[Leaf]]
Runner = Callable[..., tuple[Attribution, list[Round]]]
PER_CALL = 16
MANY = Options(budget=200 * PER_CALL, samples_per_call=PER_CALL)
CAUSE = 7


def test_every_draw_is_as_large_as_a_call_gives(make_leaves: Make, attribute_rate: Runner) -> None:
    result, rounds = attribute_rate(make_leaves(12), lambda removed: 0.1 if CAUSE in removed else 0.6, options=MANY)
    draws = [draw for order in rounds for draw in order]
    assert all(draw.count % PER_CALL == 0 for draw in draws)
    assert result.draws == sum(draw.count for draw in draws)


@pytest.mark.parametrize("size", [12, 60])
def test_a_weak_effect_is_proven_with_few_requests(make_leaves: Make, attribute_rate: Runner, size: int) -> None:
    for seed in range(12):
        result, _ = attribute_rate(
            make_leaves(size), lambda removed: 0.14 if CAUSE in removed else 0.38, options=MANY, seed=seed
        )
        assert result.headline is not None
        assert result.headline.removal == {CAUSE}
        assert result.headline.e_value >= 1 / result.headline.alpha_t
        assert len(result.tested) <= 45


def test_each_of_a_few_pieces_is_looked_at_alone_before_nothing_is_found(
    make_leaves: Make, attribute_rate: Runner
) -> None:
    for size, is_each in ((12, True), (60, False)):
        result, _ = attribute_rate(make_leaves(size), lambda removed: 0.9, options=MANY)
        assert result.stop is Stop.NO_CAUSE
        seen = {tested.removal for tested in result.tested}
        assert ({frozenset([leaf]) for leaf in range(size)} <= seen) == is_each


def test_where_there_is_no_cause_a_claim_is_no_more_frequent_than_alpha(
    make_leaves: Make, attribute_rate: Runner
) -> None:
    runs = [
        attribute_rate(make_leaves(12), lambda removed, rate=rate: rate, options=MANY, seed=seed)[0]
        for rate in (0.35, 0.6, 0.9, 1.0)
        for seed in range(25)
    ]
    assert sum(bool(result.claims) for result in runs) <= MANY.alpha * len(runs)
    assert sorted(len(result.tested) for result in runs)[len(runs) // 2] < 40
    assert any(result.nominated for result in runs)


def test_the_search_ends_though_samples_cost_nothing(make_leaves: Make, attribute_rate: Runner) -> None:
    def rate(removed: frozenset[int]) -> float:
        # No structure fits: the rate falls or rises with the parity of what is removed.
        return 0.3 if len(removed) % 2 else 0.8

    result, _ = attribute_rate(make_leaves(12), rate, options=Options(budget=1_000_000, samples_per_call=PER_CALL))
    assert result.stop is not Stop.BUDGET
    assert result.draws < 10_000
