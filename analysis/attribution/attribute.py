"""The course of an attribution, from the baseline to the result."""

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Final

from .confirm import confirm
from .design import choose_removals
from .kinds import with_joint
from .ledger import NOTHING, BudgetEnded, Steps
from .problem import Leaf, Options, Replies, Round
from .result import Attribution, Claim, Kind, Stop, Tested
from .search import ANY_CAUSE, Search
from .structures import Shape
from .study import Study
from .threads import on_one_thread
from .together import explain_together, without_required

_RARE: Final = 0.12
_RARE_LOOKS: Final = (12, 24)
"""Baseline draws after which a decision may be called too rare."""
_OPENING: Final = 3
"""Removals explored beside the first baseline draws, since users wait for rounds."""
_LIKELY_REQUIRED: Final = 0.8
_SETTLED: Final = 0.9
"""When no cause in a pool is more likely than this after the search, removing all of it is not looked at apart."""


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
    return (yield from on_one_thread(_attribute(Study(leaves, decision, options))))


def _attribute(study: Study) -> Steps[Attribution]:
    try:
        stop = yield from _course(study)
    except BudgetEnded:
        stop = Stop.BUDGET
        study.open.append("the budget ended before the search did")
    return _result(study, stop)


def _course(study: Study) -> Steps[Stop]:
    if (yield from _is_rare(study)):
        base = study.ledger.baseline
        study.notes.append(f"the decision happened in {base.target} of {base.draws} samples: too rare to explain")
        return Stop.RARE
    is_unproven = yield from Search(study).run()
    rest = study.pool - study.claimed
    if is_unproven and not study.has_large_claim:
        # Nothing is sought in all pieces together then: that would blame the whole for what one of them seems to do.
        study.open.append("what looks like the cause has too small an effect to be proven with this many samples")
    elif rest and not study.has_large_claim and study.believe(rest, ANY_CAUSE).shapes[Shape.NONE] < _SETTLED:
        yield from explain_together(study, rest, ANY_CAUSE)
    if study.options.full or not study.claims:
        yield from _claim_required(study)
    if study.claims:
        return Stop.FOUND
    return Stop.UNRESOLVED if study.open else Stop.NO_CAUSE


def _claim_required(study: Study) -> Steps[None]:
    """Puts suspected required inputs to the test: all in full mode, else the likeliest when nothing else was found."""
    pool = study.pool - study.claimed
    if study.options.full:
        yield from without_required(study, pool, ANY_CAUSE)
    belief = study.believe(pool, ANY_CAUSE) if pool else None
    ranked = sorted(zip(belief.required, belief.pool, strict=True), reverse=True) if belief else []
    for chance, leaf in ranked:
        removal = frozenset([leaf])
        if chance < _LIKELY_REQUIRED:
            return
        claim = yield from confirm(study.docket, study.ledger, removal, kind=Kind.REQUIRED, aside={})
        if claim is not None:
            study.add(claim)
            if not study.options.full:
                return


def _is_rare(study: Study) -> Steps[bool]:
    """Draws the baseline until the decision is seen to be frequent enough to be explained, or not."""
    opening = choose_removals(study.believe(study.pool, ANY_CAUSE), size=_OPENING, rng=study.rng) if study.pool else ()
    yield from study.ledger.draw({**study.baseline_wishes(), **Counter(opening)})
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
    claims = with_joint(study.claims)
    return Attribution(
        stop=stop,
        baseline=study.ledger.baseline,
        claims=claims,
        headline=_headline(study, claims),
        tested=tuple(Tested(removal=r, tally=t) for r, t in study.ledger.tests().items()),
        nominated=study.docket.nominated(),
        suspicion=tuple(float(x) for x in study.believe(pool, ANY_CAUSE).necessary) if pool else (),
        dose=study.dose,
        notes=tuple(study.notes),
        open=tuple(study.open),
        rounds=study.ledger.rounds,
        draws=study.ledger.draws,
    )


def _headline(study: Study, claims: tuple[Claim, ...]) -> Claim | None:
    """Returns the claim to show first: pushes before required inputs, what was read before what was said before that,
    and what is the same in every run last.
    """

    def rank(claim: Claim) -> tuple[bool, int, float]:
        return claim.kind is Kind.REQUIRED, study.distance(claim), -claim.effect

    return min((claim for claim in claims if claim.has_large_effect), key=rank, default=None)
