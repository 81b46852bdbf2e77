from collections.abc import Callable

from whyspan.analysis.attribution.problem import Leaf, Options, Role, Round
from whyspan.analysis.attribution.result import Attribution, Kind, Stop

Make = Callable[..., list[Leaf]]
Runner = Callable[..., tuple[Attribution, list[Round]]]


def test_names_the_one_piece_that_matters(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(make_leaves(40), lambda removed: 0.05 if 17 in removed else 0.95)
    assert result.headline is not None
    assert result.headline.removal == {17}
    assert result.headline.kind is Kind.PUSHES
    assert result.headline.e_value >= 1 / result.headline.alpha_t
    assert result.stop is Stop.FOUND


def test_names_nothing_when_nothing_matters(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(make_leaves(40), lambda removed: 0.9)
    assert result.claims == ()
    assert result.headline is None
    assert result.stop is Stop.NO_CAUSE


def test_finds_a_cause_in_the_words_of_the_user(make_leaves: Make, attribute_rate: Runner) -> None:
    leaves = [*make_leaves(6, Role.SYSTEM), *make_leaves(6, Role.USER), *make_leaves(20)]
    result, _ = attribute_rate(leaves, lambda removed: 0.0 if 8 in removed else 1.0)
    assert result.headline is not None
    assert result.headline.removal == {8}


def test_what_was_given_is_left_alone_when_told_so(make_leaves: Make, attribute_rate: Runner) -> None:
    leaves = [*make_leaves(6, Role.SYSTEM), *make_leaves(6, Role.USER), *make_leaves(20)]
    result, rounds = attribute_rate(leaves, lambda removed: 0.0 if 8 in removed else 1.0, options=Options(given=False))
    assert result.stop is Stop.NO_CAUSE
    assert all(min(draw.removal, default=12) >= 12 for order in rounds for draw in order)


def test_a_rare_decision_is_not_searched(make_leaves: Make, attribute_rate: Runner) -> None:
    result, rounds = attribute_rate(make_leaves(20), lambda removed: 0.0)
    assert result.stop is Stop.RARE
    assert all(draw.removal == frozenset() for order in rounds[1:] for draw in order)


def test_the_budget_only_cuts_the_course_short(make_leaves: Make, attribute_rate: Runner) -> None:
    def rate(removed: frozenset[int]) -> float:
        return 0.0 if 5 in removed else 1.0

    whole, rounds = attribute_rate(make_leaves(30), rate)
    assert whole.draws > 8
    for budget in range(1, whole.draws):
        part, cut = attribute_rate(make_leaves(30), rate, options=Options(budget=budget))
        assert part.stop is Stop.BUDGET
        assert part.draws == budget
        assert cut[:-1] == rounds[: len(cut) - 1]
        assert part.open


def test_a_caller_that_stops_paying_gets_a_partial_result(make_leaves: Make, attribute_rate: Runner) -> None:
    result, _ = attribute_rate(make_leaves(30), lambda removed: 0.0 if 5 in removed else 1.0, allow=9)
    assert result.stop is Stop.BUDGET
    assert result.draws == 9


def test_equal_inputs_take_an_equal_course(make_leaves: Make, attribute_rate: Runner) -> None:
    def rate(removed: frozenset[int]) -> float:
        return 0.2 if 3 in removed else 0.8

    assert attribute_rate(make_leaves(25), rate, seed=4) == attribute_rate(make_leaves(25), rate, seed=4)


def test_the_first_round_explores_beside_the_baseline(make_leaves: Make, attribute_rate: Runner) -> None:
    _, rounds = attribute_rate(make_leaves(20), lambda removed: 0.0 if 5 in removed else 1.0)
    removals = [draw.removal for draw in rounds[0]]
    assert frozenset() in removals
    assert any(removals)


def test_a_second_needed_piece_is_sought_while_the_first_is_tested(make_leaves: Make, attribute_rate: Runner) -> None:
    result, rounds = attribute_rate(make_leaves(20), lambda removed: 0.0 if removed & {5, 12} else 1.0)
    first = result.claims[0].removal
    tested = next(order for order in rounds if any(draw.removal == first and draw.count > 1 for draw in order))
    assert any(draw.removal and not draw.removal & first for draw in tested)


def test_what_was_given_is_searched_beside_what_was_read(make_leaves: Make, attribute_rate: Runner) -> None:
    leaves = [*make_leaves(6, Role.SYSTEM), *make_leaves(14)]
    result, _ = attribute_rate(leaves, lambda removed: 0.0 if removed & {3, 12} else 1.0)
    assert {claim.removal for claim in result.claims} == {frozenset([3]), frozenset([12])}


def test_no_leaves_is_no_cause(attribute_rate: Runner) -> None:
    result, _ = attribute_rate([], lambda removed: 1.0)
    assert result.stop is Stop.NO_CAUSE


def test_what_was_put_to_the_test_is_told_whether_it_was_claimed_or_not(
    make_leaves: Make, attribute_rate: Runner
) -> None:
    def rate(removed: frozenset[int]) -> float:
        return 0.45 if 3 in removed else 0.85

    results = [attribute_rate(make_leaves(25), rate, seed=seed)[0] for seed in range(8)]
    for result in results:
        evidence = {n.removal: n for n in result.nominated}
        assert all(evidence[claim.removal].tally.draws >= claim.without_pieces.draws for claim in result.claims)
    assert any(len(result.nominated) > len(result.claims) for result in results)


def test_a_prompt_without_anything_read_is_searched_like_what_is_read(
    make_leaves: Make, attribute_rate: Runner
) -> None:
    def named(role: Role) -> int:
        heads = (
            attribute_rate(make_leaves(20, role), lambda removed: 0.2 if 7 in removed else 0.6, seed=seed)[0].headline
            for seed in range(6)
        )
        return sum(head is not None and head.removal == {7} for head in heads)

    assert min(named(Role.USER), named(Role.TOOL)) >= 3


def test_a_sentence_of_the_prompt_alone_does_not_end_the_search(make_leaves: Make, attribute_rate: Runner) -> None:
    """What the prompt says is said in every run; what the model read within that frame is looked for as well."""

    def rate(removed: frozenset[int]) -> float:
        return 0.97 * (0.02 if 2 in removed else 1.0) * (0.4 if 13 in removed else 1.0)

    leaves = [*make_leaves(5, Role.SYSTEM), *make_leaves(12)]
    results = [attribute_rate(leaves, rate, seed=seed)[0] for seed in range(6)]
    heads = [result.headline.removal for result in results if result.headline]
    assert heads.count(frozenset([13])) >= 4


def test_a_suspect_that_cannot_be_proven_makes_way_for_the_others(make_leaves: Make, attribute_rate: Runner) -> None:
    def rate(removed: frozenset[int]) -> float:
        return 0.95 * (0.75 if 4 in removed else 1.0) * (0.15 if 13 in removed else 1.0)

    options = Options(guess=frozenset([4]), budget=400)
    results = [attribute_rate(make_leaves(16), rate, seed=seed, options=options)[0] for seed in range(10)]
    assert all(result.headline for result in results)
    assert sum(result.headline.removal == {13} for result in results if result.headline) >= 7
