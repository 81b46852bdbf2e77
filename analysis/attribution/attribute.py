"""The course of an attribution, from the baseline to the result."""

from collections.abc import Generator, Sequence
from typing import Final

from .ledger import NOTHING, BudgetEnded, Steps
from .problem import Leaf, Options, Replies, Round
from .result import Attribution, Claim, Stop, Tested
from .search import search
from .study import Study

_RARE: Final = 0.12
_RARE_LOOKS: Final = (12, 24)
"""Baseline draws after which a decision may be called too rare."""
_LIMIT: Final = 60
_LIMIT_UNSTABLE: Final = 110
_SECOND_LIMIT: Final = 15
"""A second needed piece is named unasked when it costs no more draws than this."""


def attribute(leaves: Sequence[Leaf], decision: str, options: Options) -> Generator[Round, Replies, Attribution]:
    """Finds which leaves the decision depends on, as a generator of rounds of draws.

    Yields rounds; expects for each the outcomes, one tuple a draw, in order. Sending fewer outcomes than ordered ends
    the attribution with what it has. The course depends only on the arguments and the outcomes, and on the budget only
    by where it ends: to continue, run it again with a larger budget and answer repeated draws from memory.

    Args:
        leaves: the removable pieces, in the order of the request; identical texts merged.
        decision: text of the decision (tool name and arguments), used for its words only.
        options: how to run it.
    """
    study = Study(leaves, decision, options)
    try:
        stop = yield from _course(study)
    except BudgetEnded:
        stop = Stop.BUDGET
        study.open.append("the budget ended before the search did")
    return _result(study, stop)


def _course(study: Study) -> Steps[Stop]:
    if (yield from _is_rare(study)):
        study.notes.append(
            f"the decision happened in {study.ledger.baseline.target} of {study.ledger.baseline.draws} samples"
        )
        return Stop.RARE
    for given in (False, True):
        pool = study.pool(given=given)
        limit = _LIMIT if study.ledger.base_rate > 0.6 else _LIMIT_UNSTABLE
        claim = yield from search(study, pool, any_cause=0.7 if not given else 0.5, limit=limit, probe_rest=True)
        if claim is not None:
            yield from search(study, pool - claim.removal, any_cause=0.25, limit=_SECOND_LIMIT)
            return Stop.FOUND
    return Stop.NO_CAUSE


def _is_rare(study: Study) -> Steps[bool]:
    """Draws the baseline until the decision is seen to be frequent enough to be explained, or not."""
    yield from study.ledger.draw(study.baseline_wishes())
    for looks in _RARE_LOOKS:
        base = study.ledger.baseline
        if base.rate >= _RARE:
            return False
        yield from study.ledger.draw({NOTHING: looks - base.draws})
        if study.ledger.baseline.target == 0:
            return True
    return study.ledger.baseline.rate < _RARE


def _result(study: Study, stop: Stop) -> Attribution:
    pool = frozenset(range(len(study.leaves)))
    suspicion = tuple(float(x) for x in study.believe(pool, 0.7).necessary) if pool else ()
    return Attribution(
        stop=stop,
        baseline=study.ledger.baseline,
        claims=tuple(study.claims),
        headline=_headline(study),
        tested=tuple(Tested(removal=r, tally=t) for r, t in study.ledger.tests().items()),
        suspicion=suspicion,
        dose=(),
        notes=tuple(study.notes),
        open=tuple(study.open),
        rounds=study.ledger.rounds,
        draws=study.ledger.draws,
    )


def _headline(study: Study) -> Claim | None:
    large = [claim for claim in study.claims if claim.has_large_effect]
    return max(large, key=lambda claim: claim.effect, default=None)
