"""Plays the rounds of a procedure against the replay engine: where the pure core meets the model."""

from typing import TypeVar

from ..experiment import Experiment, Order
from ..interventions import Drop, Noop
from ..segments import Segmentation
from .ledger import Steps

T = TypeVar("T")


async def drive(steps: Steps[T], experiment: Experiment, cut: Segmentation) -> T:
    """Plays rounds until the procedure returns; each round's draws run at once."""
    try:
        draws = next(steps)
        while True:
            replies = await experiment.draw_all([_order(cut, d.removal, d.count) for d in draws])
            draws = steps.send(replies)
    except StopIteration as end:
        result: T = end.value
        return result


def _order(cut: Segmentation, removal: frozenset[int], count: int) -> Order:
    if not removal:
        return Noop(), count, cut.body
    return Drop.of(cut, removal), count, cut.without(removal)
