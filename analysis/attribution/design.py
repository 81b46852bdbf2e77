"""Which removals to sample next: the batch that says most about the structures still possible.

The gain of a batch is the mutual information between its outcomes and the structure, computed exactly on a sample of
structures from the posterior and built up greedily, so that the sets of one round split the possibilities differently.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .likelihood import DOSE_SLOPES, misfit, shifted
from .posterior import Belief
from .structures import Array, Mask, Shape

_STRUCTURES: Final = 384
_PREFIXES: Final = 48
_RANDOM: Final = 72
_MOST: Final = 0.97
"""Random halves are drawn among the leaves that hold this much of the suspicion."""
_EXCLUDED: Final = 0.8
"""Leaves more likely required than this are not removed: their absence hides everything else."""
_CLEARING: Final = 0.5
"""Worth of learning whether a set holds a required input, against learning about pushes."""
_LEAST_GAIN: Final = 0.002
"""Nats below which a sample is not worth its cost."""
_WORTH: Final = 0.4
"""A further set of a round must bring at least this share of what the first one brings."""


def choose_removals(belief: Belief, *, size: int, rng: np.random.Generator) -> tuple[frozenset[int], ...]:
    """Returns up to `size` removals to sample once each in the next round; empty when nothing can be learnt."""
    candidates = _candidates(belief, rng)
    if not len(candidates):
        return ()
    hit = _hit_chances(belief, candidates)
    clear = np.exp(candidates @ np.log1p(-np.minimum(belief.required, 0.999)))
    noise = _entropy(hit)
    joint = np.full((1, hit.shape[1]), 1 / hit.shape[1])
    chosen: list[int] = []
    first_gain = 0.0
    for turn in range(size):
        gain = clear * _information(joint, hit, noise) + _CLEARING * _entropy(clear) / (1 + turn)
        best = int(np.argmax(gain))
        if gain[best] < max(_LEAST_GAIN, _WORTH * first_gain):
            break
        first_gain = first_gain or float(gain[best])
        chosen.append(best)
        joint = np.concatenate([joint * hit[best], joint * (1 - hit[best])])
    pool = np.array(belief.pool)
    return tuple(frozenset(int(leaf) for leaf in pool[candidates[i]]) for i in chosen)


def choose_halves(belief: Belief, *, size: int, rng: np.random.Generator) -> list[frozenset[int]]:
    """Returns removals that each hold a required input with a chance of about one half, to locate one."""
    unsure = np.flatnonzero(belief.required < _EXCLUDED)
    pool = np.array(belief.pool)
    removals = []
    for _ in range(size):
        shuffled = rng.permutation(unsure)
        clear = np.cumprod(1 - belief.required[shuffled])
        length = int(np.argmin(np.abs(clear - 0.5))) + 1
        removals.append(frozenset(int(leaf) for leaf in pool[shuffled[:length]]))
    return removals


def _hit_chances(belief: Belief, candidates: Mask) -> Array:
    """Returns float[n_candidates, n_structures]: the rate of the decision for each removal under each structure."""
    structures = belief.sample(_STRUCTURES)
    share = candidates.mean(axis=1)[:, None]
    ended = structures.endings(candidates).astype(np.float64)
    ended[:, structures.shape == Shape.MANY] = share**3
    rates = shifted(belief.base_rate * (1 - ended * (1 - belief.residual)), belief.rise * share)
    rates[:, structures.shape == Shape.DIFFUSE] = shifted(belief.base_rate, -DOSE_SLOPES[1] * share)
    odd = misfit(share)
    return (1 - odd) * rates + odd / 2


def _information(joint: Array, hit: Array, noise: Array) -> Array:
    """Returns float[n_candidates]: information about the structure, given the outcomes of the sets chosen so far.

    `joint` is float[n_outcomes, n_structures], the joint probability of those outcomes and the structures; `noise` is
    the entropy of `hit`.
    """
    weight = joint.sum(axis=1)
    mean = (joint @ hit.T) / np.maximum(weight, 1e-12)[:, None]
    gain: Array = weight @ _entropy(mean) - noise @ joint.sum(axis=0)
    return gain


def _entropy(p: Array) -> Array:
    """Returns the entropy in nats of Bernoulli(p), elementwise."""
    p = np.clip(p, 1e-9, 1 - 1e-9)
    entropy: Array = -(p * np.log(p) + (1 - p) * np.log1p(-p))
    return entropy


def _candidates(belief: Belief, rng: np.random.Generator) -> Mask:
    """Returns bool[n_candidates, n_pool]: prefixes of the order of suspicion, their complements, and random halves."""
    free = np.flatnonzero(belief.required < _EXCLUDED)
    if not len(free):
        return np.zeros((0, len(belief.pool)), dtype=bool)
    # Rounded, so that near-ties go to later leaves: removing those keeps the provider's cached prefix longer.
    order = free[np.lexsort((-free, -np.round(4 * np.log(belief.involved[free] + 1e-9))))]
    lengths = np.unique(np.geomspace(1, len(order), _PREFIXES).round().astype(int))
    ranks = np.arange(len(order))
    prefixes = ranks[None, :] < lengths[:, None]
    density = rng.choice([0.35, 0.5, 0.7], size=(_RANDOM, 1))
    alive = _alive(belief.involved[order])
    halves = (rng.random((_RANDOM, len(order))) < density) & alive
    rows = np.concatenate([prefixes, ~prefixes, halves])
    rows = rows[rows.any(axis=1)]
    candidates = np.zeros((len(rows), len(belief.pool)), dtype=bool)
    candidates[:, order] = rows
    return candidates


def _alive(involved: Array) -> NDArray[np.bool_]:
    """Returns which leaves, in order of suspicion, together hold nearly all of it."""
    total = np.cumsum(involved)
    return np.concatenate([[True], total[:-1] < _MOST * total[-1]])
