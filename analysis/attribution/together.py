"""Causes that show only when many pieces go at once: redundant and diffuse ones."""

from collections import Counter
from typing import Final

from .design import choose_halves
from .dose import confirm_diffuse
from .ledger import Steps
from .redundancy import find_redundant
from .structures import Shape
from .study import Study

_REDUNDANT_LIMIT: Final = 48
"""Most draws of the search for a redundant set."""
_LOCATING_ROUNDS: Final = 8
"""Most rounds spent on locating required inputs."""
_LOOKS: Final = 2
_MOST_LOOKS: Final = 14
"""Fewest and most draws to see whether a removal ends the decision."""
_SURELY: Final = 0.92
_HARDLY: Final = 0.12


def explain_together(study: Study, pool: frozenset[int], any_cause: float) -> Steps[None]:
    """Finds redundant and diffuse causes in a pool where no single leaf or pair explains the decision."""
    whole = yield from without_required(study, pool, any_cause)
    if not whole or not (yield from _ends(study, whole)):
        return
    shapes = study.believe(whole, any_cause).shapes
    claim = None
    if shapes[Shape.DIFFUSE] < shapes[Shape.MANY] + shapes[Shape.EITHER]:
        claim = yield from find_redundant(study, whole, limit=_REDUNDANT_LIMIT)
    if claim is None and (yield from _ends(study, whole)):
        claim = yield from confirm_diffuse(study, whole)
        if claim is None:
            study.open.append(f"removing {len(whole)} pieces together may lower the rate; no cause was confirmed")


def without_required(study: Study, pool: frozenset[int], any_cause: float) -> Steps[frozenset[int]]:
    """Returns the pool without its required inputs, which are located first: their absence would hide all else."""
    whole: frozenset[int] = frozenset()
    for _ in range(_LOCATING_ROUNDS if pool else 0):
        belief = study.believe(pool, any_cause)
        whole = belief.free
        tally = study.ledger.tally(whole)
        if not whole or (tally.draws and tally.asks <= tally.other + tally.target):
            break
        removals = choose_halves(belief, size=_LOOKS, rng=study.rng) if tally.draws else []
        yield from study.ledger.draw({whole: _LOOKS, **Counter(removals)})
    return whole


def _ends(study: Study, removal: frozenset[int]) -> Steps[bool]:
    """Draws until it is clear enough, for the search, whether a removal ends the decision."""
    while True:
        shapes = study.believe(removal, 0.5).shapes
        # A masked cause is not ended by removing everything: its suppressor goes, too.
        chance = 1 - shapes[Shape.NONE] - shapes[Shape.MASKED]
        draws = study.ledger.tally(removal).draws
        if draws >= _MOST_LOOKS or (draws >= _LOOKS and not _HARDLY < chance < _SURELY):
            return chance > 0.5
        yield from study.ledger.draw({removal: _LOOKS})
