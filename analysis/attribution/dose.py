"""Diffuse causes: no small part matters, but the rate falls with the share that is removed."""

from collections import Counter
from typing import Final

from .confirm import confirm
from .ledger import Steps
from .problem import Tally
from .result import Claim, Dose, Kind
from .study import Study

_SHARES: Final = (0.25, 0.5, 0.75)
_DRAWS: Final = 3
"""Samples wanted around each share, the search's own included."""


def missing_doses(study: Study, pool: frozenset[int]) -> Counter[frozenset[int]]:
    """Returns random removals that fill what the dose table of a pool still lacks; empty when it is full."""
    order = sorted(pool)
    wishes: Counter[frozenset[int]] = Counter()
    for share, tally in zip(_SHARES, _by_share(study, pool), strict=True):
        for _ in range(_DRAWS - tally.draws):
            size = max(1, round(share * len(order)))
            wishes[frozenset(int(leaf) for leaf in study.rng.choice(order, size=size, replace=False))] += 1
    wishes[pool] = max(0, _DRAWS - study.ledger.tally(pool).draws)
    return +wishes


def confirm_diffuse(study: Study, pool: frozenset[int]) -> Steps[Claim | None]:
    """Puts the removal of a whole pool to the test and fills its dose table."""
    claim = yield from confirm(
        study.docket,
        study.ledger,
        pool,
        kind=Kind.DIFFUSE,
        aside=dict(missing_doses(study, pool)),
    )
    if claim is not None:
        study.add(claim)
        study.dose = dose_table(study, pool)
    return claim


def dose_table(study: Study, pool: frozenset[int]) -> tuple[Dose, ...]:
    """Returns the rate by share removed, from nothing to the whole pool."""
    return (
        Dose(share=0.0, tally=study.ledger.baseline),
        *(Dose(share=s, tally=t) for s, t in zip(_SHARES, _by_share(study, pool), strict=True)),
        Dose(share=1.0, tally=study.ledger.tally(pool)),
    )


def _by_share(study: Study, pool: frozenset[int]) -> list[Tally]:
    """Adds up the tests inside the pool by the nearest share; sets near nothing or everything are left out."""
    sums = [Tally() for _ in _SHARES]
    for removal, tally in study.ledger.tests().items():
        share = len(removal) / len(pool)
        nearest = min(range(len(_SHARES)), key=lambda i: abs(_SHARES[i] - share))
        if removal <= pool and abs(_SHARES[nearest] - share) <= 0.125:
            sums[nearest] += tally
    return sums
