"""The search for one cause in a pool of leaves. It explores freely and makes no claim itself; `confirm` does."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from .confirm import confirm
from .design import choose_removals
from .dose import missing_doses
from .kinds import is_required, with_members
from .ledger import Steps
from .posterior import Belief
from .result import Claim, Kind
from .structures import Shape
from .study import Study

_STABLE: Final = 0.7
"""Base rate from which a decision counts as stable."""
_SURE: Final = 0.5
_SURE_PAIR: Final = 0.75
"""How likely a leaf or a redundant pair must look to be nominated; draws that confirm also teach the search."""
_DOUBT: Final = 0.15
_DOUBT_PAIR: Final = 0.4
"""Below this a nominated leaf or pair is given up."""
_NONE_LEFT: Final = 0.08
_NONE_LEFT_UNSTABLE: Final = 0.2
_NONE_LEFT_THOROUGH: Final = 0.04
"""When a cause in the pool is less likely than this, the search ends: sooner where each draw says little."""
_SPREAD: Final = 0.7
"""When diffuse causes or many copies are more likely than this, no small set is worth looking for here."""
_BATCH: Final = 3
_BATCH_UNSTABLE: Final = 5
"""Removals of one round; more for unstable decisions, where each says little."""
_SUPPRESSED: Final = 0.3
"""How likely a suppressor must look to be checked when its cause is confirmed."""
_ASIDE: Final = 2
"""Draws of each removal that is looked at while another is confirmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a search looks for and how much it may spend."""

    pool: frozenset[int]
    """Leaves that may be removed; all others stay."""
    any_cause: float
    """Chance that the pool holds a cause."""
    limit: int
    """Most draws before a cause is nominated."""
    confirm_limit: float = math.inf
    """Most draws including the confirmation."""
    further: bool = False
    """Whether a cause is known already and only another needed piece is of interest."""


def search(study: Study, goal: Goal) -> Steps[Claim | None]:
    """Looks for a cause, puts it to the test, and returns the claim; None when there seems to be no (further) one."""
    start = study.ledger.draws
    failed: set[frozenset[int]] = set()
    while goal.pool and study.ledger.draws - start < goal.limit:
        belief = study.believe(goal.pool, goal.any_cause)
        if belief.shapes[Shape.DIFFUSE] + belief.shapes[Shape.MANY] > _SPREAD:
            wishes = missing_doses(study, belief.free) if belief.shapes[Shape.DIFFUSE] > 0.5 else Counter()
            if not wishes:
                return None
            yield from study.ledger.draw(wishes)
            continue
        suspect = _suspect(belief, failed)
        if suspect is not None:
            claim = yield from _try(study, goal, belief, suspect, until=start + goal.confirm_limit)
            if claim is not None:
                return claim
            failed.add(suspect)
            continue
        if _chance_left(belief, goal) < _negligible(study):
            return None
        size = _BATCH if belief.base_rate > _STABLE else _BATCH_UNSTABLE
        removals = choose_removals(belief, size=size, rng=study.rng)
        if not removals:
            return None
        yield from study.ledger.draw({**study.baseline_wishes(), **Counter(removals)})
    return None


def _negligible(study: Study) -> float:
    if study.options.thorough:
        return _NONE_LEFT_THOROUGH
    return _NONE_LEFT if study.ledger.base_rate > _STABLE else _NONE_LEFT_UNSTABLE


def _chance_left(belief: Belief, goal: Goal) -> float:
    """Returns the chance that the pool holds what is looked for."""
    if goal.further:
        return belief.shapes[Shape.SINGLE] + belief.shapes[Shape.BOTH]
    return 1 - belief.shapes[Shape.NONE]


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


def _try(study: Study, goal: Goal, belief: Belief, suspect: frozenset[int], *, until: float) -> Steps[Claim | None]:
    """Confirms a suspect and tells its kind."""

    def doubt() -> bool:
        now = study.believe(goal.pool, goal.any_cause)
        if len(suspect) > 1:
            return frozenset(now.best_pair) != suspect or now.best_pair_chance < _DOUBT_PAIR
        (leaf,) = suspect
        return bool(now.necessary[now.pool.index(leaf)] < _DOUBT)

    kind = Kind.REDUNDANT if len(suspect) > 1 else Kind.PUSHES
    claim = yield from confirm(
        study.docket,
        study.ledger,
        suspect,
        kind=kind,
        aside=_aside(goal, belief, suspect),
        doubt=doubt,
        until=until,
    )
    if claim is not None:
        claim = _with_kind(study, belief, claim)
        study.add(claim)
    return claim


def _aside(goal: Goal, belief: Belief, suspect: frozenset[int]) -> dict[frozenset[int], int]:
    """Returns what to look at while a suspect is confirmed."""
    if len(suspect) > 1:
        return {suspect - {leaf}: _ASIDE for leaf in suspect}
    masked = _suppressor(belief)
    if masked is not None:
        return {suspect | masked: _ASIDE}
    rest = belief.free - suspect
    return {rest: 1} if rest and not goal.further else {}


def _suppressor(belief: Belief) -> frozenset[int] | None:
    leaf, chance = belief.suppressor
    return frozenset([leaf]) if chance >= _SUPPRESSED else None


def _with_kind(study: Study, belief: Belief, claim: Claim) -> Claim:
    """Returns the claim with what the draws beside it say about its kind."""
    if claim.kind is Kind.REDUNDANT:
        return with_members(claim, study.ledger)
    if is_required(claim.without_pieces, study.elsewhere(claim.removal)):
        return replace(claim, kind=Kind.REQUIRED)
    masked = _suppressor(belief)
    if masked is not None and study.ledger.tally(claim.removal | masked).rate > 0.5 * study.ledger.base_rate:
        return replace(claim, kind=Kind.MASKED, suppressors=masked)
    return claim
