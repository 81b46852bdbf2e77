"""What the draws so far say about the pieces of a pool: a posterior over small causal structures.

Two channels are kept apart. *Pushes*: an exact posterior over structures of at most two pieces (`structures`), with the
share of the rate that survives a removal as a common unknown. *Required inputs*: an independent chance per piece, by
belief propagation on the outcomes where the model asked. Each channel discounts tests that the other explains.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .likelihood import DOSE_SLOPES, Outcomes, dose_rate
from .problem import Tally
from .propagation import group_marginals
from .structures import Array, Sample, Shape

_RESIDUALS: Final = np.array([0.02, 0.1, 0.3, 0.45])
_LOG_RESIDUAL_WEIGHTS: Final = np.log(np.array([0.4, 0.25, 0.25, 0.1]))
_SHAPES: Final = {
    Shape.DIFFUSE: 0.06,
    Shape.MANY: 0.05,
    Shape.SINGLE: 0.50,
    Shape.EITHER: 0.13,
    Shape.BOTH: 0.13,
    Shape.MASKED: 0.15,
}
"""Prior shares of the shapes, given that there is a cause in the pool."""
_MASKED_ABOVE: Final = 0.7
"""Suppressors are hard to see through the noise of a less stable decision; looking for them there wastes draws."""
_IS_REQUIRED: Final = 0.5
_MANY: Final = 5
"""Fewer leaves than this are not many."""
_PAIR_LIMIT: Final = 120
"""Pairs are formed of the most suspicious leaves only, so that the cost stays bounded for long contexts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPrior:
    """What is believed of a pool before its draws."""

    pool: tuple[int, ...]
    """Leaves that may be removed, ascending."""
    weights: Array
    """float[n_pool], sums to 1: where a cause is expected."""
    any_cause: float
    """Chance that the pool holds a cause."""
    required: Array
    """float[n_pool] in (0, 1): chance that a leaf is a required input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """The posterior for one pool; positions refer to `pool`."""

    pool: tuple[int, ...]
    shapes: Mapping[Shape, float]
    """Probability of each shape; sums to 1."""
    necessary: Array
    """float[n_pool]: chance that removing this leaf alone ends the decision."""
    involved: Array
    """float[n_pool]: chance that the leaf takes part in any structure."""
    required: Array
    """float[n_pool]: chance that the leaf is a required input."""
    best_pair: tuple[int, int]
    """Leaves (not positions) of the most likely redundant pair."""
    best_pair_chance: float
    suppressor: tuple[int, float]
    """Leaf that most likely suppresses the decision when the most suspicious leaf is gone, with its chance."""
    residual: float
    """Expected share of the base rate that survives the removal of the cause."""
    base_rate: float
    cumulative: Array
    """Cumulative probabilities of the structures, in the order of `code`; for sampling."""
    pair_positions: NDArray[np.int64]
    """Positions in the pool of the leaves that pairs are made of."""

    @property
    def free(self) -> frozenset[int]:
        """Leaves of the pool that are not likely required inputs; removing all of them tells something."""
        return frozenset(leaf for leaf, chance in zip(self.pool, self.required, strict=True) if chance < _IS_REQUIRED)

    def sample(self, size: int) -> Sample:
        """Returns `size` structures by systematic sampling, which needs no random numbers."""
        points = (np.arange(size) + 0.5) / size * self.cumulative[-1]
        index = np.searchsorted(self.cumulative, points)
        return _decode(index, len(self.pool), self.pair_positions)


def update(prior: PoolPrior, tests: Mapping[frozenset[int], Tally], *, baseline: Tally, base_rate: float) -> Belief:
    """Returns the posterior of a pool given all tests; those that removed anything outside the pool are left out."""
    position = {leaf: i for i, leaf in enumerate(prior.pool)}
    inside = [(removal, tally) for removal, tally in tests.items() if position.keys() >= removal]
    members = np.zeros((len(inside), len(prior.pool)))
    for row, (removal, _) in enumerate(inside):
        members[row, [position[leaf] for leaf in removal]] = 1
    outcomes = Outcomes.of([tally for _, tally in inside], baseline=baseline, base_rate=base_rate)
    required = _required(prior, members, outcomes)
    return _structures(prior, members, outcomes, required)


def _required(prior: PoolPrior, members: Array, outcomes: Outcomes) -> Array:
    """Returns float[n_pool], the chance that each leaf is a required input."""
    pushed = np.minimum(0.5, members @ (prior.any_cause * prior.weights))
    without = np.logaddexp(
        np.log1p(-pushed) + outcomes.log_plain(), np.log(np.maximum(pushed, 1e-9)) + outcomes.log_pushed(_RESIDUALS[1])
    )
    ratio = outcomes.soften(without) - outcomes.soften(outcomes.log_required())
    return group_marginals(prior.required, members, ratio)


def _log_ratios(prior: PoolPrior, members: Array, outcomes: Outcomes, required: Array) -> tuple[Array, Array, float]:
    """Returns how much each test speaks for a set that ends it, and all for a diffuse cause and for many copies.

    Shapes: float[n_residuals, n_tests], float[n_slopes] and a number; all relative to "nothing in the set matters".
    """
    clear = np.exp(members @ np.log1p(-np.minimum(required, 1 - 1e-6)))
    asked = np.log(np.maximum(1 - clear, 1e-9)) + outcomes.log_required()

    def mixed(log: Array) -> Array:
        return outcomes.soften(np.logaddexp(np.log(clear) + log, asked))

    plain = mixed(outcomes.log_plain())
    pushed = np.array([mixed(outcomes.log_pushed(r)) - plain for r in _RESIDUALS])
    share = members.mean(axis=1)
    rates = (dose_rate(outcomes.base_rate, share, slope) for slope in DOSE_SLOPES)
    doses = [mixed(outcomes.log_rate(rate)) - plain for rate in rates]
    # Three copies in unknown places all lie in a set of weight w with chance w^3; tests are taken as independent.
    covered = np.minimum(members @ prior.weights, 1 - 1e-6) ** 3
    many = np.log1p(covered * np.expm1(np.minimum(pushed[1], 50.0)))
    return pushed, np.array([dose.sum() for dose in doses]), float(many.sum())


def _structures(prior: PoolPrior, members: Array, outcomes: Outcomes, required: Array) -> Belief:
    pushed, dose, many = _log_ratios(prior, members, outcomes, required)
    n = len(prior.pool)
    log_weights = np.log(prior.weights)
    single_each = log_weights + pushed @ members + _LOG_RESIDUAL_WEIGHTS[:, None]
    single = logsumexp(single_each, axis=0)
    pairs = _pair_positions(single, pushed, members)
    either, both, masked = _pair_logs(log_weights[pairs], pushed, members[:, pairs])
    cause = np.log(prior.any_cause)
    masked_share = _SHAPES[Shape.MASKED] * (1.0 if outcomes.base_rate > _MASKED_ABOVE else 0.25)
    logs = np.concatenate(
        [
            [np.log1p(-prior.any_cause)],
            [cause + np.log(_SHAPES[Shape.DIFFUSE]) + logsumexp(dose) - np.log(len(dose)) if n >= _MANY else -np.inf],
            [cause + np.log(_SHAPES[Shape.MANY]) + many if n >= _MANY else -np.inf],
            cause + np.log(_SHAPES[Shape.SINGLE]) + single,
            cause + np.log(_SHAPES[Shape.EITHER]) + either,
            cause + np.log(_SHAPES[Shape.BOTH]) + both,
            cause + np.log(masked_share) + masked,
        ]
    )
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    residual = float(np.exp(logsumexp(single_each, axis=1) - logsumexp(single_each)) @ _RESIDUALS)
    return _summary(prior, chances, pairs, required, residual, outcomes.base_rate, n)


def _pair_positions(single: Array, pushed: Array, members: Array) -> NDArray[np.int64]:
    """Returns the ascending positions of the leaves that pairs are made of."""
    if len(single) <= _PAIR_LIMIT:
        return np.arange(len(single))
    # Redundant leaves look innocent alone, but they sit in every set that ended the decision.
    blamed = np.maximum(pushed[1], 0) @ members + 0.2 * (single - single.max())
    return np.sort(np.argsort(-blamed, kind="stable")[:_PAIR_LIMIT])


def _pair_logs(log_weights: Array, pushed: Array, members: Array) -> tuple[Array, Array, Array]:
    """Returns log prior + log-likelihood of the pairs: either and both by upper triangle, masked as a full square."""
    m = len(log_weights)
    if m < 2:
        return np.zeros(0), np.zeros(0), np.full(m * m, -np.inf)
    upper = np.triu_indices(m, 1)
    prior = (log_weights[:, None] + log_weights[None, :])[upper] + np.log(2)
    either, both, masked = [], [], []
    for weight, ratio in zip(_LOG_RESIDUAL_WEIGHTS, pushed, strict=True):
        together = (members * ratio[:, None]).T @ members
        alone = np.diag(together)
        either.append(weight + prior + together[upper])
        both.append(weight + prior + (alone[:, None] + alone[None, :] - together)[upper])
        masked.append(weight + log_weights[:, None] - np.log(m - 1) + alone[:, None] - together)
    full = logsumexp(masked, axis=0)
    np.fill_diagonal(full, -np.inf)
    return logsumexp(either, axis=0), logsumexp(both, axis=0), full.ravel()


def _summary(
    prior: PoolPrior,
    chances: Array,
    pairs: NDArray[np.int64],
    required: Array,
    residual: float,
    base_rate: float,
    n: int,
) -> Belief:
    m = len(pairs)
    upper = np.triu_indices(m, 1)
    triangle = len(upper[0])
    cuts = np.cumsum([3, n, triangle, triangle])
    _, single, either, both, masked = np.split(chances, cuts)[0:5]
    square = masked.reshape(m, m)
    necessary, involved = single.copy(), single.copy()
    both_each = np.bincount(upper[0], both, m) + np.bincount(upper[1], both, m)
    either_each = np.bincount(upper[0], either, m) + np.bincount(upper[1], either, m)
    necessary[pairs] += both_each + square.sum(axis=1)
    involved[pairs] += both_each + either_each + square.sum(axis=1) + square.sum(axis=0)
    best = int(np.argmax(either)) if triangle else 0
    top = int(np.argmax(necessary[pairs]))
    mask = int(np.argmax(square[top])) if m else 0
    return Belief(
        pool=prior.pool,
        shapes={
            Shape.NONE: float(chances[0]),
            Shape.DIFFUSE: float(chances[1]),
            Shape.MANY: float(chances[2]),
            Shape.SINGLE: float(single.sum()),
            Shape.EITHER: float(either.sum()),
            Shape.BOTH: float(both.sum()),
            Shape.MASKED: float(square.sum()),
        },
        necessary=necessary,
        involved=involved,
        required=required,
        best_pair=(prior.pool[pairs[upper[0][best]]], prior.pool[pairs[upper[1][best]]]) if triangle else (0, 0),
        best_pair_chance=float(either[best]) if triangle else 0.0,
        suppressor=(prior.pool[pairs[mask]], float(square[top, mask])),
        residual=residual,
        base_rate=base_rate,
        cumulative=np.cumsum(chances),
        pair_positions=pairs,
    )


def _decode(index: NDArray[np.int64], n: int, pairs: NDArray[np.int64]) -> Sample:
    """Turns indices into the vector of structures back into shapes and positions."""
    m = len(pairs)
    upper = np.triu_indices(m, 1)
    triangle = len(upper[0])
    starts = np.array([0, 1, 2, 3, 3 + n, 3 + n + triangle, 3 + n + 2 * triangle])
    shape = np.searchsorted(starts, index, side="right") - 1
    offset = index - starts[shape]
    first, second = np.zeros_like(index), np.zeros_like(index)
    single = shape == Shape.SINGLE
    first[single] = offset[single]
    for paired in (Shape.EITHER, Shape.BOTH):
        where = shape == paired
        first[where], second[where] = pairs[upper[0][offset[where]]], pairs[upper[1][offset[where]]]
    where = shape == Shape.MASKED
    first[where], second[where] = pairs[offset[where] // m], pairs[offset[where] % m]
    return Sample(shape=shape, first=first, second=second)
