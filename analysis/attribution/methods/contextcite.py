"""ContextCite on sampled decisions: a sparse linear model of what random removals do.

Cohen-Wang, Shah, Georgiev and Madry, ContextCite: Attributing Model Generation to Context, NeurIPS 2024. Their settings
(github.com/MadryLab/context-cite): 64 ablations that keep each source with probability 0.5, LASSO with alpha 0.01 on
standardised masks. They fit the logit of the recorded response's probability. Hosted models do not give that for a
tool call, so it is whether the decision happened, 1 or 0. Sources are what the agent read or wrote; the system prompt,
the user's words and the tools are their "query" and stay.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..ledger import UNCAPPED, BudgetEnded, Ledger, Steps
from ..problem import Leaf, Tally
from .scores import Scores

ABLATIONS: Final = 64
KEPT: Final = 0.5
ALPHA: Final = 0.01
"""The published defaults."""
Array = NDArray[np.float64]


def contextcite(leaves: Sequence[Leaf], *, seed: int) -> Steps[Scores]:
    """Draws every ablation once, in one round, and returns the weight of each source in the fit."""
    ledger, is_complete = Ledger(budget=UNCAPPED), True
    sources = [i for i, leaf in enumerate(leaves) if not leaf.role.is_given] or list(range(len(leaves)))
    kept = np.random.default_rng(seed).random((ABLATIONS, len(sources))) < KEPT
    removals = [frozenset(s for s, keep in zip(sources, row, strict=True) if not keep) for row in kept]
    try:
        yield from ledger.draw(Counter(removals))
    except BudgetEnded:
        is_complete = False
    tests = {r: tally for r in removals if (tally := ledger.tally(r)).draws}
    masks = np.array([[s not in removal for s in sources] for removal in tests], dtype=float)
    weights = dict(zip(sources, _weights(masks, list(tests.values())), strict=True)) if tests else {}
    return Scores(
        values=tuple(float(weights.get(leaf, 0.0)) for leaf in range(len(leaves))),
        baseline=ledger.baseline,
        draws=ledger.draws,
        is_complete=is_complete,
    )


def _weights(masks: Array, tallies: Sequence[Tally]) -> Array:
    """Returns float[n_sources] from masks float[n_removals, n_sources] and the outcomes of each removal's draws."""
    outcomes = np.concatenate([np.repeat([1.0, 0.0], [t.target, t.draws - t.target]) for t in tallies])
    return lasso(np.repeat(masks, [t.draws for t in tallies], axis=0), outcomes, alpha=ALPHA)


def lasso(masks: Array, outcomes: Array, *, alpha: float) -> Array:
    """Returns the weights, float[n], that minimise half the mean squared error plus alpha times their absolute sum.

    The columns of `masks` (float[m, n]) are standardised for the fit, the weights are in their own units. A weight is
    the difference of two non-negative numbers, which makes the problem smooth with bounds.
    """
    rows, columns = masks.shape
    scale = masks.std(axis=0)
    scale[scale == 0] = 1.0
    x, y = (masks - masks.mean(axis=0)) / scale, outcomes - outcomes.mean()

    def loss(halves: Array) -> tuple[float, Array]:
        rest = x @ (halves[:columns] - halves[columns:]) - y
        slope = x.T @ rest / rows
        return float(rest @ rest / (2 * rows) + alpha * halves.sum()), np.concatenate([slope, -slope]) + alpha

    found = minimize(
        loss,
        np.zeros(2 * columns),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (2 * columns),
        options={"ftol": 1e-13, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 20_000},
    )
    weights: Array = (found.x[:columns] - found.x[columns:]) / scale
    return weights
