"""Belief propagation for noisy group tests: which items are positive, when a test reacts if it holds any positive."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ROUNDS = 12
_DAMPING = 0.5
_LIMIT = 12.0
"""Largest log-odds that one test may contribute."""


def group_marginals(prior: Array, members: Array, log_ratio: Array) -> Array:
    """Returns float[n_items], the posterior chance that each item is positive.

    Args:
        prior: float[n_items] in (0, 1), independent.
        members: float[n_tests, n_items], 1 where the item takes part in the test.
        log_ratio: float[n_tests], log-likelihood of the outcome without any positive minus with one or more.
    """
    prior_odds = np.log(prior) - np.log1p(-prior)
    messages = np.zeros_like(members)
    ratio = np.exp(np.clip(log_ratio, -_LIMIT, _LIMIT))[:, None]
    for _ in range(_ROUNDS if len(members) else 0):
        cavity = prior_odds + messages.sum(axis=0) - messages
        log_negative = -np.logaddexp(0.0, cavity) * members
        others_negative = np.exp(log_negative.sum(axis=1, keepdims=True) - log_negative)
        # With this item positive the test reacts; with it negative the others decide.
        fresh = -np.log(others_negative * ratio + 1 - others_negative) * members
        messages = _DAMPING * messages + (1 - _DAMPING) * np.clip(fresh, -_LIMIT, _LIMIT)
    marginals: Array = 1 / (1 + np.exp(-(prior_odds + messages.sum(axis=0))))
    return marginals
