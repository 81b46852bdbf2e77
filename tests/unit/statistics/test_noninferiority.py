import math
import random
from collections.abc import Sequence

import pytest

from whyspan.analysis.statistics.noninferiority import log_e_breaks, log_e_keeps

ALPHA = 0.05
SHARE = 0.8


def run_pooled(base: Sequence[float], changed: Sequence[float], rng: random.Random, *, rounds: int) -> bool:
    """Whether "keeps more than SHARE" is claimed at any round of a run over cases with these rates."""
    kept = right = 0
    for n in range(1, rounds + 1):
        right += sum(rng.random() < p for p in base)
        kept += sum(rng.random() < p for p in changed)
        draws = n * len(base)
        if log_e_keeps((kept, draws), (right, draws), share=SHARE) >= -math.log(ALPHA):
            return True
    return False


def share_of_runs(base: Sequence[float], changed: Sequence[float], *, runs: int, rounds: int) -> float:
    rng = random.Random(7)
    return sum(run_pooled(base, changed, rng, rounds=rounds) for _ in range(runs)) / runs


@pytest.mark.parametrize(
    ("base", "changed"),
    [
        ([1.0] * 5, [0.8] * 5),
        ([1.0] * 5, [1.0, 1.0, 1.0, 1.0, 0.0]),  # one case is lost, the others are safe: the mean keeps 80 %
        ([0.9, 0.5, 1.0], [0.92, 0.0, 1.0]),
        ([0.6] * 4, [0.48] * 4),
    ],
)
def test_a_change_that_keeps_too_little_is_rarely_called_safe(base: list[float], changed: list[float]) -> None:
    assert share_of_runs(base, changed, runs=600, rounds=12) <= ALPHA


def test_a_safe_change_is_mostly_shown_to_be_safe() -> None:
    assert share_of_runs([0.99] * 5, [0.99] * 5, runs=200, rounds=8) >= 0.9


def test_twenty_right_decisions_in_each_arm_show_that_four_fifths_are_kept() -> None:
    assert log_e_keeps((20, 20), (20, 20), share=SHARE) >= -math.log(ALPHA)
    assert log_e_keeps((8, 8), (8, 8), share=SHARE) < -math.log(ALPHA)


def test_nothing_drawn_is_no_evidence() -> None:
    assert log_e_keeps((0, 0), (5, 5), share=SHARE) == 0
    assert log_e_breaks([], share=SHARE) == 0
    assert log_e_breaks([((0, 0), (0, 0))], share=SHARE) == 0


def test_losing_everything_is_never_evidence_of_keeping() -> None:
    assert log_e_keeps((0, 20), (20, 20), share=SHARE) < 0


def test_one_broken_case_among_many_is_noticed() -> None:
    safe = ((8, 8), (8, 8))
    assert log_e_breaks([safe] * 5 + [((0, 8), (8, 8))], share=SHARE) >= -math.log(ALPHA)


def test_harm_is_rarely_claimed_when_nothing_changes() -> None:
    rng = random.Random(3)
    claimed = 0
    for _ in range(600):
        counts = [[0, 0] for _ in range(4)]
        for n in range(1, 13):
            for pair in counts:
                pair[0] += rng.random() < 0.9
                pair[1] += rng.random() < 0.9
            if log_e_breaks([((a, n), (b, n)) for a, b in counts], share=SHARE) >= -math.log(ALPHA):
                claimed += 1
                break
    assert claimed / 600 <= ALPHA
