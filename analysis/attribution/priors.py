"""Where the search looks first. Priors save draws; they never make or block a claim."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .problem import Leaf, Options

_TOKEN = re.compile(r"\w[\w$.\-@]*\w|\w")
_FLOOR = 0.05
"""Weight of a leaf that shares nothing with the decision, against 1 for the one that shares most."""
_SHARPNESS = 0.6
"""Below 1, so that a moderate overlap counts nearly as much as the largest one."""
_GUESS_BONUS = 2.0
_GIVEN_SHARE = 0.2
"""How much of the suspicion what was given before the run holds beside what was read and written in it."""


def suspicion_weights(leaves: Sequence[Leaf], decision: str, options: Options) -> NDArray[np.float64]:
    """Returns float[n_leaves], the positive weight of each leaf before anything is drawn.

    Words shared with the decision count more when few leaves have them; later leaves count a little more.
    """
    overlaps = _overlaps([leaf.text for leaf in leaves], decision)
    recency = 0.8 + 0.4 * np.arange(len(leaves)) / max(len(leaves) - 1, 1)
    weights = (_FLOOR + overlaps**_SHARPNESS) * recency
    weights[list(options.guess)] += _GUESS_BONUS
    return weights


def share_out(weights: NDArray[np.float64], given: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Scales positive weights (float[n_leaves]) to sum to 1; leaves that are given hold a fixed share beside others."""
    shared: NDArray[np.float64] = weights / weights.sum()
    if given.any() and not given.all():
        shared[given] *= _GIVEN_SHARE / shared[given].sum()
        shared[~given] *= (1 - _GIVEN_SHARE) / shared[~given].sum()
    return shared


def _overlaps(texts: Sequence[str], decision: str) -> NDArray[np.float64]:
    """Returns float[n_texts] in [0, 1]: shared words and word pairs, rarer ones counting more, the best scaled to 1."""
    wanted = _features(decision)
    shared = [wanted & _features(text) for text in texts]
    frequency = Counter(feature for features in shared for feature in features)
    scores: NDArray[np.float64] = np.array(
        [sum(1 / frequency[f] ** 0.5 for f in sorted(features)) for features in shared]
    )
    lengths = np.array([1 + len(_TOKEN.findall(text)) ** 0.5 for text in texts])
    scores = scores / lengths
    highest = float(scores.max(initial=0.0))
    return np.divide(scores, highest) if highest > 0 else scores


def _features(text: str) -> set[str]:
    words = _TOKEN.findall(text.lower())
    return {*words, *(f"{a} {b}" for a, b in pairwise(words))}
