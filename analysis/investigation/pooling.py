"""Evidence about one source, from many cases. The unit is the case; nothing here draws or reads anything.

A *source* is a text (word for word the same in several requests) or a place (the results of one tool, the system
prompt, …). Its hypothesis: in none of the cases does removing it, or any piece of that place, lower the rate. It is
fixed by the requests, before any replay. Each case that holds the source gives one number:

    E = sum over k of gamma(k) * e_k        gamma sums to 1; for a text there is only k = 1

where e_k is the e-process of the k-th removal of the source that `why` put to the test, wherever it stood when the case
was over, and `log_e_untested` of the baseline for every k that was never reached. Under the hypothesis E[E] <= 1:

* e_k is bounded by the likelihood ratio of the baseline's and that removal's draws, a martingale from 1 in everything
  drawn for the case. Which removal comes k-th is decided before its draws, and when to stop by what was drawn, so its
  mean is at most 1. Given up ones count like claimed ones; to pool the claims alone would be to pick the lucky ones.
* Draws of different cases are independent given their requests, and identical requests are one case, since they share
  replies. So the mean of each E given the cases before it is at most 1 as well, and their product is an e-value.

Sources that two cases or more hold are compared by e-BH, texts and places each at half of alpha: the expected share of
false claims is at most alpha. A claim says that the source is a cause in *some* of the cases; which, the cases' own
e-values tell.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ..attribution.problem import Tally
from ..statistics.evalues import log_e_untested
from ..statistics.levels import gamma
from ..statistics.logarithms import log_sum_exp
from ..statistics.multiplicity import e_bh_level

LEAST_CASES: Final = 2
"""A source of a single case is a matter for the claims about that case."""


class Family(StrEnum):
    """What makes removals of different cases the same."""

    TEXT = "text"
    """The same text alone, wherever it stands."""
    PLACE = "place"
    """Any removal from the same place: the results of one tool, the system prompt, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A removal that `why` put to the test in a case."""

    text: str
    """The removed text; empty when several were removed together."""
    place: str
    """Where all of it stands; empty when that is not one place."""
    tally: Tally
    log_e: float
    is_claimed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEvidence:
    """What the replays of one case say."""

    texts: frozenset[str]
    places: frozenset[str]
    """What the request holds, tested or not."""
    baseline: Tally
    attempts: tuple[Attempt, ...]
    """In the order of nomination."""

    def holds(self, family: Family, name: str) -> bool:
        """Whether the request holds a source."""
        return name in (self.texts if family is Family.TEXT else self.places)

    def attempts_on(self, family: Family, name: str) -> tuple[Attempt, ...]:
        """Returns the removals of a source, in the order of nomination."""
        return tuple(a for a in self.attempts if (a.text if family is Family.TEXT else a.place) == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one case gives to a source."""

    case: int
    """Index of the case."""
    log_e: float
    """Logarithm of the case's e-value."""
    attempts: tuple[Attempt, ...]

    @property
    def is_claimed(self) -> bool:
        """Whether the case's own replays show that the source is a cause in it."""
        return any(attempt.is_claimed for attempt in self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """A source and the evidence about it from all cases that hold it."""

    family: Family
    name: str
    shares: tuple[Share, ...]
    level: float
    """The level it was compared at, the number of sources taken into account."""

    @property
    def log_e(self) -> float:
        """Logarithm of the product of the cases' e-values."""
        return sum(share.log_e for share in self.shares)

    @property
    def is_supported(self) -> bool:
        """Whether the source is claimed."""
        return self.log_e >= -math.log(self.level)


def pool(evidence: Sequence[CaseEvidence], *, alpha: float) -> tuple[Pooled, ...]:
    """Returns every source that two cases or more hold, the strongest evidence first."""
    found = [p for family in Family for p in _family(family, evidence, alpha / len(Family))]
    return tuple(sorted(found, key=lambda p: (-p.log_e, p.family, p.name)))


def _family(family: Family, evidence: Sequence[CaseEvidence], alpha: float) -> Iterator[Pooled]:
    held = [case.texts if family is Family.TEXT else case.places for case in evidence]
    names = sorted(n for n in frozenset[str]().union(*held) if sum(n in of_case for of_case in held) >= LEAST_CASES)
    shares = {name: tuple(_shares(family, name, evidence)) for name in names}
    level = e_bh_level([sum(s.log_e for s in shares[name]) for name in names], alpha=alpha)
    for name in names:
        yield Pooled(family=family, name=name, shares=shares[name], level=level)


def _shares(family: Family, name: str, evidence: Sequence[CaseEvidence]) -> Iterator[Share]:
    for number, case in enumerate(evidence):
        if case.holds(family, name):
            attempts = case.attempts_on(family, name)
            yield Share(case=number, log_e=_log_mean(family, attempts, case.baseline), attempts=attempts)


def _log_mean(family: Family, attempts: Sequence[Attempt], baseline: Tally) -> float:
    """Returns the logarithm of a case's e-value: the mean over its attempts, weighted before they were known."""
    untested = log_e_untested((baseline.target, baseline.draws))
    logs = [a.log_e if a.tally.draws else untested for a in attempts]
    if family is Family.TEXT:
        return logs[0] if logs else untested
    weights = [gamma(k) for k in range(1, len(logs) + 1)]
    reached = [math.log(w) + e for w, e in zip(weights, logs, strict=True)]
    return log_sum_exp([*reached, math.log1p(-sum(weights)) + untested])
