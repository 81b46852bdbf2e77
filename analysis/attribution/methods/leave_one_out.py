"""Leave-one-out: the rate as recorded minus the rate without each piece, from a few samples each.

Every piece is drawn the same number of times whatever it shows, so the cost grows with the request, and the largest of
many noisy differences is large by chance.
"""

from collections.abc import Sequence
from typing import Final

from ..ledger import NOTHING, UNCAPPED, BudgetEnded, Ledger, Steps
from ..problem import Leaf
from .scores import Scores

BASELINE_DRAWS: Final = 10
DRAWS: Final = 3
"""Samples of the unchanged request, and of each removal."""
_LARGE: Final = 0.5
"""A piece is named when its removal takes this share of the rate, as a headline of `why` does."""


def leave_one_out(leaves: Sequence[Leaf]) -> Steps[Scores]:
    """Draws everything in one round, the pieces read last first, and returns the drop of the rate for each leaf."""
    ledger, is_complete = Ledger(budget=UNCAPPED), True
    singles = [frozenset([leaf]) for leaf in reversed(range(len(leaves)))]
    try:
        yield from ledger.draw({NOTHING: BASELINE_DRAWS, **dict.fromkeys(singles, DRAWS)})
    except BudgetEnded:
        is_complete = False
    base, tests = ledger.baseline, ledger.tests()
    drops = {min(removal): base.rate - tally.rate for removal, tally in tests.items()}
    return Scores(
        values=tuple(drops.get(leaf, 0.0) for leaf in range(len(leaves))),
        threshold=_LARGE * base.rate,
        baseline=base,
        draws=ledger.draws,
        is_complete=is_complete,
    )
