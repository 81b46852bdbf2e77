"""What the draws so far say about the pieces of a pool: a posterior over small causal structures.

Two channels are kept apart. *Pushes*: a posterior over structures (`structures`), exact for those of at most two
pieces, by belief propagation for sets of any size, with how much of the rate survives a removal as a common unknown
(`evidence`). *Required inputs*: an independent chance per piece, by belief propagation on the outcomes where the model
asked. Each channel discounts tests that the other explains.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from .evidence import RESIDUALS, RISES, TYPICAL, Evidence, weigh
from .likelihood import Outcomes
from .pairs import pair_logs, pair_positions
from .problem import Tally
from .propagation import group_posterior
from .structures import Array, Layout, Sample, Shape

_SHAPES: Final = {
    Shape.DIFFUSE: 0.09,
    Shape.MANY: 0.05,
    Shape.SINGLE: 0.39,
    Shape.EITHER: 0.13,
    Shape.BOTH: 0.13,
    Shape.MASKED: 0.15,
    Shape.SEVERAL: 0.08,
}
"""Prior shares of the shapes, given that there is a cause in the pool."""
_LOG_MASKED_UNSTABLE: Final = np.log(0.25)
_MASKED_ABOVE: Final = 0.7
"""Suppressors are hard to see through the noise of a less stable decision; looking for them there wastes draws."""
_IS_REQUIRED: Final = 0.5
_MANY: Final = 5
"""Fewer leaves than this are not many."""
_NEEDED: Final = 3.0
"""How many pieces are needed where each of several is, a priori."""
_MOST_NEEDED: Final = 0.35


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
    rise: float
    """Expected rise of the log-odds of the decision from nothing to everything removed, whatever the cause."""
    several: Array
    """float[n_pool]: chance that the leaf is needed, given that each of several is."""
    layout: Layout
    cumulative: Array
    """Cumulative probabilities of the structures, in the order of `layout`; for sampling."""

    @property
    def free(self) -> frozenset[int]:
        """Leaves of the pool that are not likely required inputs; removing all of them tells something."""
        return frozenset(leaf for leaf, chance in zip(self.pool, self.required, strict=True) if chance < _IS_REQUIRED)

    def sample(self, size: int) -> Sample:
        """Returns `size` structures by systematic sampling, which needs no random numbers."""
        points = (np.arange(size) + 0.5) / size * self.cumulative[-1]
        index = np.searchsorted(self.cumulative, points)
        return self.layout.decode(index, self.several)


def update(prior: PoolPrior, tests: Mapping[frozenset[int], Tally], *, baseline: Tally, base_rate: float) -> Belief:
    """Returns the posterior of a pool given all tests; those that removed anything outside the pool are left out."""
    position = {leaf: i for i, leaf in enumerate(prior.pool)}
    inside = [(removal, tally) for removal, tally in tests.items() if position.keys() >= removal]
    members = np.zeros((len(inside), len(prior.pool)))
    for row, (removal, _) in enumerate(inside):
        members[row, [position[leaf] for leaf in removal]] = 1
    outcomes = Outcomes.of([tally for _, tally in inside], baseline=baseline, base_rate=base_rate)
    required = _required(prior, members, outcomes)
    evidence = weigh(members, outcomes, required=required, weights=prior.weights)
    return _structures(prior, evidence, required, base_rate)


def _required(prior: PoolPrior, members: Array, outcomes: Outcomes) -> Array:
    """Returns float[n_pool], the chance that each leaf is a required input."""
    pushed = np.minimum(0.5, members @ (prior.any_cause * prior.weights))
    without = np.logaddexp(
        np.log1p(-pushed) + outcomes.log_plain(),
        np.log(np.maximum(pushed, 1e-9)) + outcomes.log_pushed(RESIDUALS[TYPICAL[1]]),
    )
    ratio = outcomes.soften(without) - outcomes.soften(outcomes.log_required())
    return group_posterior(prior.required, members, ratio)[0]


def _structures(prior: PoolPrior, evidence: Evidence, required: Array, base_rate: float) -> Belief:
    n = len(prior.pool)
    log_weights = np.log(prior.weights)
    by_setting = evidence.settings[..., None] + evidence.ended @ evidence.members + log_weights
    single = np.logaddexp.reduce(by_setting, axis=(0, 1))
    layout = Layout(leaves=n, pairs=pair_positions(single, evidence))
    either, both, masked = pair_logs(log_weights[layout.pairs], evidence.members[:, layout.pairs], evidence)
    several, log_several = _several(prior, evidence)
    logs = {
        Shape.DIFFUSE: np.array([evidence.diffuse if n >= _MANY else -np.inf]),
        Shape.MANY: np.array([evidence.many if n >= _MANY else -np.inf]),
        Shape.SINGLE: single,
        Shape.EITHER: either,
        Shape.BOTH: both,
        Shape.MASKED: masked + (0.0 if base_rate > _MASKED_ABOVE else _LOG_MASKED_UNSTABLE),
        Shape.SEVERAL: np.array([log_several]),
    }
    cause = [np.log(prior.any_cause) + np.log(_SHAPES[shape]) + log for shape, log in logs.items()]
    joint = np.concatenate([[np.log1p(-prior.any_cause) + evidence.none], *cause])
    chances = np.exp(joint - joint.max())
    chances /= chances.sum()
    settings = np.exp(np.logaddexp.reduce(by_setting, axis=2) - np.logaddexp.reduce(single))
    return _summary(
        prior,
        layout,
        chances,
        required=required,
        several=several,
        residual=float(settings.sum(axis=0) @ RESIDUALS),
        rise=float(settings.sum(axis=1) @ RISES),
        base_rate=base_rate,
    )


def _several(prior: PoolPrior, evidence: Evidence) -> tuple[Array, float]:
    """Returns the chance of each leaf where each of several is needed, and the log-likelihood of that."""
    expected = np.minimum(_MOST_NEEDED, _NEEDED * prior.weights)
    log_nobody = float(np.log1p(-expected).sum())
    by_rise, logs = [], []
    for ended, settings in zip(evidence.ended, evidence.settings, strict=True):
        plain = np.logaddexp.reduce(settings)
        ratio = -np.logaddexp.reduce(ended + (settings - plain)[:, None], axis=0)
        chances, log = group_posterior(expected, evidence.members, ratio)
        somebody = max(1e-9, -np.expm1(min(0.0, log_nobody - log)))
        by_rise.append(np.minimum(chances / somebody, 1.0))
        logs.append(plain + log + np.log(somebody) - np.log(-np.expm1(log_nobody)))
    total = np.logaddexp.reduce(logs)
    return np.exp(logs - total) @ np.array(by_rise), float(total)


def _summary(
    prior: PoolPrior,
    layout: Layout,
    chances: Array,
    *,
    required: Array,
    several: Array,
    residual: float,
    rise: float,
    base_rate: float,
) -> Belief:
    parts, pairs, upper, m = layout.split(chances), layout.pairs, layout.upper, len(layout.pairs)
    either, both, square = parts[Shape.EITHER], parts[Shape.BOTH], parts[Shape.MASKED].reshape(m, m)
    necessary = parts[Shape.SINGLE] + parts[Shape.SEVERAL] * several
    involved = necessary.copy()
    both_each = np.bincount(upper[0], both, m) + np.bincount(upper[1], both, m)
    either_each = np.bincount(upper[0], either, m) + np.bincount(upper[1], either, m)
    necessary[pairs] += both_each + square.sum(axis=1)
    involved[pairs] += both_each + either_each + square.sum(axis=1) + square.sum(axis=0)
    best = int(np.argmax(either)) if len(either) else 0
    top = int(np.argmax(necessary[pairs]))
    mask = int(np.argmax(square[top])) if m else 0
    return Belief(
        pool=prior.pool,
        shapes={shape: float(part.sum()) for shape, part in parts.items()},
        necessary=necessary,
        involved=involved,
        required=required,
        best_pair=(prior.pool[pairs[upper[0][best]]], prior.pool[pairs[upper[1][best]]]) if len(either) else (0, 0),
        best_pair_chance=float(either[best]) if len(either) else 0.0,
        suppressor=(prior.pool[pairs[mask]], float(square[top, mask])),
        residual=residual,
        rise=rise,
        base_rate=base_rate,
        several=several,
        layout=layout,
        cumulative=np.cumsum(chances),
    )
