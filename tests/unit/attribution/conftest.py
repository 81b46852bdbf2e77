"""Stand-in models for tests of the attribution core."""

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

from whyspan.analysis.attribution.attribute import attribute
from whyspan.analysis.attribution.problem import Leaf, Options, Outcome, Role, Round
from whyspan.analysis.attribution.result import Attribution

Rate: TypeAlias = Callable[[frozenset[int]], float]
Run: TypeAlias = tuple[Attribution, list[Round]]


def run(
    leaves: Sequence[Leaf],
    rate: Rate,
    *,
    options: Options | None = None,
    asks: Callable[[frozenset[int]], bool] = lambda removed: False,
    seed: int = 0,
    allow: int = 10_000,
) -> Run:
    """Runs the core to its end; `allow` is the number of samples that the caller is willing to pay for."""
    rng = random.Random(seed)
    core = attribute(leaves, "forward_email billing", options or Options())
    rounds = []
    order = next(core)
    while True:
        rounds.append(order)
        replies = []
        for draw in order:
            count = min(draw.count, allow)
            allow -= count
            miss = Outcome.ASKS if asks(draw.removal) else Outcome.OTHER
            hits = [rng.random() < rate(draw.removal) for _ in range(count)]
            replies.append(tuple(Outcome.TARGET if hit else miss for hit in hits))
        try:
            order = core.send(tuple(replies))
        except StopIteration as end:
            return end.value, rounds


@pytest.fixture
def attribute_rate() -> Callable[..., Run]:
    """Gives the runner of the core against a model that is only a rate."""
    return run


@pytest.fixture
def make_leaves() -> Callable[..., list[Leaf]]:
    """Gives a builder of leaves that share no words with the decision."""

    def make(count: int, role: Role = Role.TOOL) -> list[Leaf]:
        return [Leaf(text=f"sentence number {i}", message=i // 5, role=role) for i in range(count)]

    return make
