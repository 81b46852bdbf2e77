"""Measures the gate: how often useless lessons get in, and how many pairs good ones need.

python tests/benchmarks/learning/run.py [--campaigns 500]
"""

import argparse
import random
import statistics
from collections.abc import Callable, Iterator

from whyspan.analysis.learning.lessons.gate import Decision, Measurement, pairs_needed

ALPHA = 0.05
CANDIDATES = 8


def skewed_null(rng: random.Random) -> float:
    """A lesson that wins a little nine times out of ten, and loses it all again: the mean is nought."""
    return 0.1 if rng.random() < 0.9 else -0.9


def fair_null(rng: random.Random) -> float:
    """A lesson without any effect on a model that is noisy."""
    return float(rng.random() < 0.5) - float(rng.random() < 0.5)


def helps(before: float, after: float) -> Callable[[random.Random], float]:
    """A lesson that raises the share of good outcomes."""
    return lambda rng: float(rng.random() < after) - float(rng.random() < before)


def pairs_until_admitted(
    draw: Callable[[random.Random], float], rng: random.Random, number: int, most: int
) -> int | None:
    """Returns after how many pairs a lesson is admitted; None when it is not within `most`."""
    blocks: list[float] = []
    while len(blocks) < most:
        blocks.append(draw(rng))
        if Measurement(number=number, alpha=ALPHA, blocks=tuple(blocks)).decide() is Decision.ADMITTED:
            return len(blocks)
    return None


def false_campaigns(draw: Callable[[random.Random], float], campaigns: int, most: int) -> int:
    """Returns how many campaigns of eight useless lessons admit any of them, looking after every pair."""
    rng = random.Random(2026)
    return sum(
        any(pairs_until_admitted(draw, rng, number, most) for number in range(1, CANDIDATES + 1))
        for _ in range(campaigns)
    )


def report(campaigns: int) -> Iterator[str]:
    """Yields the figures."""
    for name, draw in (("skewed null", skewed_null), ("fair null", fair_null)):
        for most in (20, 100):
            count = false_campaigns(draw, campaigns, most)
            yield f"{name}, {CANDIDATES} lessons, {most} pairs: {count} of {campaigns} campaigns admit one"
    for before, after in ((0.1, 0.9), (0.3, 0.7)):
        for number in (1, 8):
            rng = random.Random(7)
            found = [pairs_until_admitted(helps(before, after), rng, number, 400) for _ in range(200)]
            median = statistics.median(n if n is not None else 400 for n in found)
            yield f"{before:.0%} to {after:.0%}, lesson {number}: median of {median:.0f} pairs"
    yield "perfect lesson, alpha 0.05: " + ", ".join(
        f"{pairs_needed(j, ALPHA)} pairs (j={j})" for j in (1, 5, 10, 20, 50)
    )
    two = Measurement(number=1, alpha=0.2, blocks=(1.0, 1.0)).decide()
    yield f"two wins out of two, alpha 0.2: {two.value}"


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=500)
    for line in report(parser.parse_args().campaigns):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
