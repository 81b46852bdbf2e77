"""How a confirmed removal takes part in the decision, told from the rates of what the model does instead."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from scipy.special import betainc

from .ledger import Ledger
from .problem import Tally
from .result import Claim, Kind

_SURE: Final = 0.8


def is_required(without: Tally, elsewhere: Tally) -> bool:
    """Whether the model asks, without the piece, more than it does whenever else the decision fails to happen.

    Args:
        without: outcomes with the piece removed.
        elsewhere: outcomes of the baseline and of removals that do not touch the piece; they show the natural
            alternative. Where asking is all the model ever does instead, it says nothing about the piece.
    """
    usual = (elsewhere.asks + 0.5) / (elsewhere.asks + elsewhere.other + 2.0)
    # The posterior (Jeffreys) chance that it asks more than usual: the upper tail of a Beta distribution.
    more = 1.0 - float(betainc(without.asks + 0.5, without.other + 0.5, usual))
    return without.asks > without.other and more >= _SURE


def with_members(claim: Claim, ledger: Ledger) -> Claim:
    """Adds to a redundant set what was seen when all members but one were removed."""
    kept = tuple((leaf, ledger.tally(claim.removal - {leaf})) for leaf in sorted(claim.removal))
    return replace(claim, members=kept)


def with_joint(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Marks single pushes as joint when there are several: without any one of them the decision ends."""
    pushes = [claim for claim in claims if claim.kind is Kind.PUSHES and claim.has_large_effect]
    if len(pushes) < 2:
        return tuple(claims)
    return tuple(replace(claim, kind=Kind.JOINT) if claim in pushes else claim for claim in claims)
