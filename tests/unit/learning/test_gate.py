"""The gate keeps useless lessons out, however they are tried, and lets good ones in after few pairs."""

import math
import random
from itertools import count

import pytest

from whyspan.analysis.learning.lessons.gate import Decision, Measurement, Strategy, judge, pairs_needed


def measure(
    blocks: list[float], *, number: int = 1, alpha: float = 0.05, heldout: tuple[float, ...] = ()
) -> Measurement:
    return Measurement(number=number, alpha=alpha, blocks=tuple(blocks), heldout=heldout)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_two_wins_out_of_two_never_admit(alpha: float) -> None:
    assert measure([1.0, 1.0], alpha=alpha).decide() is Decision.INCONCLUSIVE
    assert measure([1.0, 1.0], alpha=alpha).decide(left=50) is Decision.OPEN


@pytest.mark.parametrize(("number", "pairs"), [(1, 8), (5, 12), (10, 14), (20, 16), (50, 19)])
def test_a_perfect_lesson_needs_so_many_pairs(number: int, pairs: int) -> None:
    assert pairs_needed(number, 0.05) == pairs


def test_levels_of_all_lessons_together_stay_below_alpha() -> None:
    levels = [1 / measure([], number=j).needed for j in range(1, 2000)]
    assert sum(levels) <= 0.05


def test_the_skewed_null_is_admitted_in_at_most_alpha_of_campaigns() -> None:
    """Wins of +0.1 nine times out of ten, losses of -0.9 else: the mean is nought, and most short series look good."""
    rng = random.Random(17)

    def campaign() -> bool:
        for number in range(1, 9):
            blocks: list[float] = []
            while len(blocks) < 20:
                blocks.append(0.1 if rng.random() < 0.9 else -0.9)
                if measure(blocks, number=number).decide() is Decision.ADMITTED:
                    return True
        return False

    assert sum(campaign() for _ in range(100)) / 100 <= 0.05


def test_a_lesson_that_helps_most_cases_is_admitted_in_few_pairs() -> None:
    rng = random.Random(3)

    def pairs() -> int:
        blocks: list[float] = []
        for n in count(1):
            blocks.append(float(rng.random() < 0.9) - float(rng.random() < 0.1))
            if measure(blocks).decide() is Decision.ADMITTED:
                return n
        raise AssertionError

    assert sorted(pairs() for _ in range(51))[25] <= 12


def test_a_lesson_that_lowers_the_score_is_refuted() -> None:
    assert measure([-1.0] * 8).decide() is Decision.REFUTED


def test_a_test_ends_when_even_perfect_pairs_could_not_admit() -> None:
    assert measure([0.0] * 10).decide(left=3) is Decision.INCONCLUSIVE
    assert measure([0.0] * 10).decide(left=12) is Decision.OPEN


def test_conservative_needs_held_out_cases_that_agree() -> None:
    wins = [1.0] * 12
    assert judge(measure(wins, alpha=0.01), Strategy.CONSERVATIVE) is Decision.INCONCLUSIVE
    assert judge(measure(wins, alpha=0.01, heldout=(0.0, -1.0)), Strategy.CONSERVATIVE) is Decision.INCONCLUSIVE
    assert judge(measure(wins, alpha=0.01, heldout=(1.0, 0.0)), Strategy.CONSERVATIVE) is Decision.ADMITTED
    assert judge(measure(wins, alpha=0.2), Strategy.AGGRESSIVE) is Decision.ADMITTED


def test_later_lessons_need_more() -> None:
    assert [round(measure([], number=j, alpha=0.01).needed) for j in (1, 2, 3)] == [200, 600, 1200]
    assert math.exp(measure([1.0] * 9, alpha=0.01).log_help) < 200 < math.exp(measure([1.0] * 10, alpha=0.01).log_help)
