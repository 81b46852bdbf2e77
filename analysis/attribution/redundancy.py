"""Redundant causes: pieces any one of which is enough, found by what keeps the decision when all else is removed.

Removing everything in a pool ends the decision, yet no piece does alone. Then some pieces are each sufficient: a test
that keeps one of them keeps the decision. That is a group test again, on the kept pieces instead of the removed ones.
"""

from collections import Counter
from typing import Final

import numpy as np

from .confirm import confirm
from .kinds import with_members
from .ledger import Steps
from .propagation import group_posterior
from .result import Claim, Kind
from .structures import Array, Shape
from .study import Study

_COPIES_EXPECTED: Final = 2.5
_SURE: Final = 0.85
_FEW: Final = 6
"""A set of more members is not a finding but a sign of many small contributions."""
_LOOKS: Final = 2
"""Draws of a removal before it counts as ending the decision."""
_ENDED: Final = 0.3
"""Below this share of the base rate a removal counts as ending the decision, in the search."""
_DIFFUSE: Final = 0.7
"""When a diffuse cause is more likely than this, no set of copies is looked for any longer."""
_ANY: Final = 0.9
_COMPLETE: Final = 0.9
"""How likely it must be that there is no further copy for a set to be tested, whatever its few draws look like."""
_BATCH: Final = 3


def find_redundant(study: Study, pool: frozenset[int], *, limit: int) -> Steps[Claim | None]:
    """Looks for a redundant set in a pool whose whole removal ends the decision, and puts it to the test."""
    until = study.ledger.spent + limit
    order = tuple(sorted(pool))
    while study.ledger.spent < until:
        if study.believe(pool, _ANY).shapes[Shape.DIFFUSE] > _DIFFUSE:
            return None
        chances = sufficiency(study, order)
        members = frozenset(leaf for leaf, chance in zip(order, chances, strict=True) if chance >= _SURE)
        if len(members) > _FEW:
            return None
        if len(members) > 1 and (_ends(study, members) or _is_complete(order, chances, members)):
            return (yield from _test(study, members))
        wishes = Counter(_kept_sets(study, order, chances, members))
        if members:
            wishes[members] = max(0, _LOOKS - study.ledger.tally(members).draws)
        if not +wishes:
            return None
        yield from study.ledger.draw(wishes)
    return None


def sufficiency(study: Study, order: tuple[int, ...]) -> Array:
    """Returns float[n_pool], the chance that each leaf alone keeps the decision when the rest of the pool is gone."""
    position = {leaf: i for i, leaf in enumerate(order)}
    kept, ratios = [], []
    base = study.ledger.base_rate
    nothing_left = study.ledger.tally(frozenset(order))
    floor = min(_ENDED, (nothing_left.target + 0.15) / (nothing_left.draws + 1.5)) * base
    for removal, tally in study.ledger.tests().items():
        if not position.keys() >= removal:
            continue
        row = np.ones(len(order))
        row[[position[leaf] for leaf in removal]] = 0
        misses = tally.other + tally.asks
        kept.append(row)
        ratios.append(tally.target * np.log(floor / base) + misses * np.log((1 - floor) / (1 - base)))
    prior = np.minimum(0.5, _COPIES_EXPECTED * study.prior(frozenset(order), 0.5).weights)
    return group_posterior(prior, np.array(kept).reshape(-1, len(order)), np.array(ratios))[0]


def _is_complete(order: tuple[int, ...], chances: Array, members: frozenset[int]) -> bool:
    """Whether no further copy is expected: then the test says whether the members end the decision."""
    others = [chance for leaf, chance in zip(order, chances, strict=True) if leaf not in members]
    return float(np.prod(1 - np.array(others))) > _COMPLETE


def _ends(study: Study, members: frozenset[int]) -> bool:
    tally = study.ledger.tally(members)
    return tally.draws >= _LOOKS and tally.rate <= _ENDED * study.ledger.base_rate


def _kept_sets(study: Study, order: tuple[int, ...], chances: Array, members: frozenset[int]) -> list[frozenset[int]]:
    """Returns removals that each keep a set of leaves that holds a further copy with a chance of about one half."""
    rest = [i for i, leaf in enumerate(order) if leaf not in members]
    removals = []
    for _ in range(_BATCH if rest else 0):
        shuffled = study.rng.permutation(rest)
        none_kept = np.cumprod(1 - chances[shuffled])
        # Where no copy is expected any more, yet the members alone do not end the decision, the rest is halved.
        size = min(int(np.argmin(np.abs(none_kept - 0.5))) + 1, max(1, len(rest) // 2))
        removals.append(frozenset(order) - {order[i] for i in shuffled[:size]})
    return removals


def _test(study: Study, members: frozenset[int]) -> Steps[Claim | None]:
    """Drops members that are not needed, then confirms the set."""
    for leaf in sorted(members):
        if len(members) > 2 and _ends(study, members - {leaf}):
            members -= {leaf}
    aside = {members - {leaf}: 2 for leaf in members}
    claim = yield from confirm(study.docket, study.ledger, members, kind=Kind.REDUNDANT, aside=aside)
    if claim is not None:
        study.add(with_members(claim, study.ledger))
    return claim
