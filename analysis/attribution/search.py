"""The search for causes in all leaves: every round explores and, beside that, puts suspects to the test.

Exploring makes no claim; only draws of a suspect made after its nomination do (`confirm`). Both go out in one round,
since users wait for rounds, and what is drawn to confirm a suspect teaches the search as well.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from .confirm import Nomination
from .design import choose_removals
from .dose import missing_doses
from .kinds import is_required, with_members
from .ledger import Steps
from .posterior import Belief
from .result import Claim, Kind
from .structures import Shape
from .study import Study

ANY_CAUSE: Final = 0.75
"""Chance that the decision has a cause among the leaves."""
_FURTHER_CAUSE: Final = 0.25
"""Chance of a further needed piece beside a cause."""
_BESIDE_FRAME: Final = 0.5
"""Chance of a cause nearer to the occasion beside one in the frame of the decision."""
_STABLE: Final = 0.7
"""Base rate from which a decision counts as stable."""
_LIMIT: Final = 60
_LIMIT_UNSTABLE: Final = 100
"""Most draws until a claim, for a stable decision and for another; those that confirm a suspect may exceed it."""
_LONGER: Final = 1.6
"""By how much they may be exceeded where a cause of few pieces is likelier than all else."""
_THOROUGH: Final = 2
"""By how much they grow where the user asked for thoroughness."""
_FURTHER_LIMIT: Final = 15
"""A further needed piece is named unasked when it costs no more draws than this."""
_BESIDE_FRAME_LIMIT: Final = 30
"""The same for a cause nearer to the occasion than the frame."""
_SURE: Final = 0.5
_SURE_PAIR: Final = 0.75
"""How likely a leaf or a redundant pair must look to be nominated."""
_DOUBT: Final = 0.15
_DOUBT_PAIR: Final = 0.4
"""Below this a nominated leaf or pair is given up."""
_NONE_LEFT: Final = 0.08
_NONE_LEFT_UNSTABLE: Final = 0.25
_NONE_LEFT_THOROUGH: Final = 0.04
"""When a cause in the pool is less likely than this, the search ends: sooner where each draw says little."""
_SPREAD: Final = 0.75
_SPREAD_UNSTABLE: Final = 0.9
"""When diffuse causes or many copies are more likely than this, no small set is worth looking for here."""
_BATCH: Final = 3
_BATCH_UNSTABLE: Final = 5
"""Removals of one round; more for unstable decisions, where each says little."""
_SUPPRESSED: Final = 0.3
"""How likely a suppressor must look to be checked when its cause is confirmed."""
_ASIDE: Final = 2
"""Draws of each removal that tells the kind of a suspect."""
_ASIDE_UNSTABLE: Final = 6
"""The same for each member of a pair where the decision is unstable: two would not tell whether it matters alone."""
_EACH: Final = 40
"""So few leaves are each removed alone before nothing is said to be found, where one call gives many samples."""
_MOST_CLAIMS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A suspect that is being put to the test."""

    nomination: Nomination
    aside: Mapping[frozenset[int], int]
    """Draws of the first round of the test: what tells the kind of the suspect, or whether there is more to find."""
    suppressor: frozenset[int]
    """The leaf that may suppress the decision once the suspect is gone; empty when none is likely."""


class Search:
    """The rounds of one search; what it claims is added to the study."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._since = study.ledger.spent
        self._trials: dict[frozenset[int], Trial] = {}
        self._given_up: set[frozenset[int]] = set()

    def run(self) -> Steps[bool]:
        """Draws until nothing more is to be found; returns whether it ends with a cause that it could not prove."""
        while wishes := self._wishes():
            yield from self._study.ledger.draw(wishes | Counter(self._study.baseline_wishes()))
            self._settle()
        rest = self._study.pool - self._study.claimed
        return bool(rest) and self._is_unproven(self._believe(rest, further=self._study.is_explained))

    @property
    def _is_extra(self) -> bool:
        """Whether a cause is known and a further one was not asked for."""
        return self._study.is_explained and not self._study.options.full

    @property
    def _is_spent(self) -> bool:
        spent = self._study.ledger.spent - self._since
        if self._is_extra:
            return spent >= _FURTHER_LIMIT
        if self._study.has_large_claim and not self._study.options.full:
            return spent >= _BESIDE_FRAME_LIMIT
        limit = _LIMIT if self._study.ledger.base_rate > _STABLE else _LIMIT_UNSTABLE
        limit *= _THOROUGH if self._study.options.thorough else 1
        return spent >= _LONGER * limit or (spent >= limit and not self._is_narrow())

    @property
    def _pool(self) -> frozenset[int]:
        """What is searched: neither claimed nor, as a single leaf, given up."""
        aside = (suspect for suspect in self._given_up if len(suspect) == 1)
        return self._study.pool - self._study.claimed - frozenset[int]().union(*aside)

    def _is_narrow(self) -> bool:
        """Whether a cause of few pieces is likelier than all else: where it sits is a matter of further draws."""
        shapes = self._believe(self._pool, further=False).shapes
        return sum(shapes[shape] for shape in (Shape.SINGLE, Shape.BOTH, Shape.SEVERAL, Shape.MASKED)) > 0.5

    def _believe(self, pool: frozenset[int], *, further: bool) -> Belief:
        study = self._study
        if study.options.full or not (further or study.has_large_claim):
            return study.believe(pool, ANY_CAUSE)
        return study.believe(pool, _FURTHER_CAUSE if further else _BESIDE_FRAME)

    def _wishes(self) -> Counter[frozenset[int]]:
        """Returns the next round without its baseline: draws for the suspects and sets to explore; empty at the end."""
        study, wishes = self._study, Counter[frozenset[int]]()
        pool = self._pool
        if not pool or len(study.claims) >= _MOST_CLAIMS:
            return wishes
        belief = self._believe(pool, further=study.is_explained)
        if not self._is_spent:
            wishes |= self._nominate(belief)
        for trial in self._trials.values():
            starts = not study.docket.fresh(trial.nomination).draws
            wishes |= Counter(study.docket.plan(trial.nomination)) | Counter(trial.aside if starts else {})
        if not self._is_spent:
            wishes |= self._explore(belief)
        return wishes or self._last_looks()

    def _nominate(self, belief: Belief) -> Counter[frozenset[int]]:
        """Puts the leaves and the redundant pair that are likely enough to the test.

        Returns draws wanted before: where one member of a pair alone ends the decision, the pair is not redundant.
        """
        looks = Counter[frozenset[int]]()
        for suspect in _suspects(belief):
            if suspect in self._given_up or suspect & self._tried():
                continue
            if missing := self._unseen_members(suspect):
                looks |= missing
                continue
            suppressor = _suppressor(belief) if len(suspect) == 1 else frozenset[int]()
            rest = belief.free - suspect
            if suppressor:
                aside = {suspect | suppressor: _ASIDE}
            else:
                aside = {rest: 1} if len(suspect) == 1 and rest and not self._study.is_explained else {}
            nomination = self._study.docket.nominate(suspect)
            self._trials[suspect] = Trial(nomination=nomination, aside=aside, suppressor=suppressor)
        return looks

    def _unseen_members(self, suspect: frozenset[int]) -> Counter[frozenset[int]]:
        """Returns the draws still missing of what remains of a pair when one member stays."""
        members = [frozenset([leaf]) for leaf in sorted(suspect)] if len(suspect) > 1 else []
        looks = _ASIDE if self._study.ledger.base_rate >= _STABLE else _ASIDE_UNSTABLE
        return +Counter({member: looks - self._study.ledger.tally(member).draws for member in members})

    def _tried(self) -> frozenset[int]:
        return frozenset[int]().union(*self._trials)

    def _explore(self, belief: Belief) -> Counter[frozenset[int]]:
        """Returns the removals that say most about what is not on trial."""
        further, size = self._study.is_explained, _BATCH if belief.base_rate > _STABLE else _BATCH_UNSTABLE
        if self._trials:
            rest = frozenset(belief.pool) - self._tried()
            if not rest or any(not self._study.docket.fresh(t.nomination).draws for t in self._trials.values()):
                return Counter()
            belief, further, size = self._believe(rest, further=True), True, 1
        elif belief.shapes[Shape.DIFFUSE] + belief.shapes[Shape.MANY] > _spread(belief):
            return missing_doses(self._study, belief.free) if belief.shapes[Shape.DIFFUSE] > 0.5 else Counter()
        if self._is_unproven(belief) or _chance_left(belief, further=further) < _negligible(self._study):
            return Counter()
        return Counter(choose_removals(belief, size=size, rng=self._study.rng))

    def _last_looks(self) -> Counter[frozenset[int]]:
        """Returns each leaf that was not yet removed alone, where that is cheap and nothing was found so far.

        These do not count as spent, so that what they show can be put to the test.
        """
        study = self._study
        is_cheap = study.options.samples_per_call > 1 and len(study.pool) <= _EACH
        alone = [frozenset([leaf]) for leaf in sorted(self._pool)] if is_cheap and not study.has_large_claim else []
        looks = Counter(leaf for leaf in alone if not study.ledger.tally(leaf).draws)
        self._since += looks.total()
        return looks

    def _is_unproven(self, belief: Belief) -> bool:
        """Whether what looks like the cause was given up for want of evidence: exploring would not add any."""
        return any(suspect in self._given_up for suspect in _suspects(belief))

    def _settle(self) -> None:
        """Claims what holds, gives up what has had its draws, and lets go of what is doubted, which may come back."""
        study = self._study
        belief = self._believe(self._pool, further=study.is_explained)
        for suspect, trial in list(self._trials.items()):
            if study.docket.holds(trial.nomination):
                study.add(_claim(study, suspect, trial))
                self._since = study.ledger.spent
            elif study.docket.is_exhausted(trial.nomination) or self._is_late():
                self._given_up.add(suspect)
                if not self._is_extra:
                    self._since = study.ledger.spent
            elif not _is_doubted(belief, suspect):
                continue
            del self._trials[suspect]

    def _is_late(self) -> bool:
        return self._is_extra and self._is_spent


def _suspects(belief: Belief) -> list[frozenset[int]]:
    """Returns the leaves and the redundant pair that are likely enough to be put to the test."""
    ranked = np.argsort(-belief.necessary, kind="stable")[:2]
    leaves = [frozenset([belief.pool[int(i)]]) for i in ranked if belief.necessary[i] >= _SURE]
    return leaves + [frozenset(belief.best_pair)] * (belief.best_pair_chance >= _SURE_PAIR)


def _suppressor(belief: Belief) -> frozenset[int]:
    leaf, chance = belief.suppressor
    return frozenset([leaf] if chance >= _SUPPRESSED else [])


def _is_doubted(belief: Belief, suspect: frozenset[int]) -> bool:
    if len(suspect) > 1:
        return frozenset(belief.best_pair) != suspect or belief.best_pair_chance < _DOUBT_PAIR
    (leaf,) = suspect
    return bool(belief.necessary[belief.pool.index(leaf)] < _DOUBT)


def _chance_left(belief: Belief, *, further: bool) -> float:
    """Returns the chance that the pool holds what is looked for; beside a cause that is another needed piece."""
    if further:
        return belief.shapes[Shape.SINGLE] + belief.shapes[Shape.BOTH] + belief.shapes[Shape.SEVERAL]
    return 1 - belief.shapes[Shape.NONE]


def _spread(belief: Belief) -> float:
    return _SPREAD if belief.base_rate > _STABLE else _SPREAD_UNSTABLE


def _negligible(study: Study) -> float:
    if study.options.thorough or study.options.samples_per_call > 1:
        return _NONE_LEFT_THOROUGH
    return _NONE_LEFT if study.ledger.base_rate > _STABLE else _NONE_LEFT_UNSTABLE


def _claim(study: Study, suspect: frozenset[int], trial: Trial) -> Claim:
    """Returns the claim of a proven suspect with what the draws beside it say about its kind."""
    if len(suspect) > 1:
        return with_members(study.docket.claim(trial.nomination, Kind.REDUNDANT), study.ledger)
    claim = study.docket.claim(trial.nomination, Kind.PUSHES)
    if is_required(claim.without_pieces, study.elsewhere(claim.removal)):
        return replace(claim, kind=Kind.REQUIRED)
    restored = study.ledger.tally(suspect | trial.suppressor).rate > 0.5 * study.ledger.base_rate
    if trial.suppressor and restored:
        return replace(claim, kind=Kind.MASKED, suppressors=trial.suppressor)
    return claim
