"""The search for one cause in a pool of leaves. It explores freely and makes no claim itself; `confirm` does."""

from typing import Final

import numpy as np

from .confirm import confirm
from .design import choose_removals
from .ledger import Steps
from .posterior import Belief
from .result import Claim, Kind
from .structures import Shape
from .study import Study

_SURE: Final = 0.8
_SURE_PAIR: Final = 0.75
"""How likely a leaf or a pair must look before it is nominated."""
_DOUBT: Final = 0.15
"""Below this a nominated removal is given up."""
_NONE_LEFT: Final = 0.12
"""When a cause in the pool is less likely than this, the search ends."""
_BATCH: Final = 3
_BATCH_UNSTABLE: Final = 5
"""Removals of one round; more for unstable decisions, where each says little."""
_MEMBER_DRAWS: Final = 2


def search(
    study: Study, pool: frozenset[int], *, any_cause: float, limit: int, probe_rest: bool = False
) -> Steps[Claim | None]:
    """Looks for a cause among the leaves of a pool and puts it to the test.

    Args:
        study: the attribution.
        pool: leaves that may be removed; all others stay.
        any_cause: chance that the pool holds a cause.
        limit: most draws to spend, confirmation included.
        probe_rest: while confirming, also look at what removing the rest of the pool does.
    """
    until = study.ledger.draws + limit
    failed: set[frozenset[int]] = set()
    while pool and study.ledger.draws < until:
        belief = study.believe(pool, any_cause)
        suspect = _suspect(belief, failed)
        if suspect is not None:
            claim = yield from _try(study, pool, belief, suspect, any_cause, until, probe_rest)
            if claim is not None:
                return claim
            failed.add(suspect)
            continue
        if belief.shapes[Shape.NONE] > 1 - _NONE_LEFT:
            return None
        size = _BATCH if study.ledger.base_rate > 0.7 else _BATCH_UNSTABLE
        removals = choose_removals(belief, size=size, rng=study.rng)
        if not removals:
            return None
        yield from study.ledger.draw({**study.baseline_wishes(), **dict.fromkeys(removals, 1)})
    return None


def _suspect(belief: Belief, failed: set[frozenset[int]]) -> frozenset[int] | None:
    """Returns the leaf or the redundant pair that is likely enough to be put to the test."""
    for i in np.argsort(-belief.necessary, kind="stable")[:2]:
        leaf = frozenset([belief.pool[int(i)]])
        if belief.necessary[i] >= _SURE and leaf not in failed:
            return leaf
    pair = frozenset(belief.best_pair)
    if belief.best_pair_chance >= _SURE_PAIR and pair not in failed:
        return pair
    return None


def _try(
    study: Study,
    pool: frozenset[int],
    belief: Belief,
    suspect: frozenset[int],
    any_cause: float,
    until: int,
    probe_rest: bool,
) -> Steps[Claim | None]:
    aside: dict[frozenset[int], int] = {}
    if len(suspect) > 1:
        aside = {frozenset([leaf]): _MEMBER_DRAWS for leaf in suspect}
    elif probe_rest:
        asked = {leaf for leaf, chance in zip(belief.pool, belief.required, strict=True) if chance >= 0.5}
        rest = pool - suspect - asked
        aside = {rest: 1} if rest else {}

    def doubt() -> bool:
        now = study.believe(pool, any_cause)
        if len(suspect) > 1:
            return frozenset(now.best_pair) != suspect or now.best_pair_chance < _DOUBT
        (leaf,) = suspect
        return bool(now.necessary[now.pool.index(leaf)] < _DOUBT)

    kind = Kind.REDUNDANT if len(suspect) > 1 else Kind.PUSHES
    claim = yield from confirm(study.docket, study.ledger, suspect, kind=kind, aside=aside, doubt=doubt, until=until)
    if claim is not None:
        study.claims.append(claim)
    return claim
