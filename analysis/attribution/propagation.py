"""Belief propagation for noisy group tests: which items are positive, when a test reacts if it holds any positive."""

import numpy as np
from scipy.special import expit

from .structures import Array, Single

_ROUNDS = 12
_DAMPING = 0.5
_LIMIT = 12.0
"""Largest log-odds that one test may contribute."""
_CERTAIN = 80.0
"""Log-odds that count as certain; the exponential of more does not fit into single precision."""


def group_posterior(prior: Array, members: Array, log_ratio: Array) -> tuple[Array, float]:
    """Returns the posterior chance that each item is positive (float[n_items]), and the log-likelihood of the tests.

    The log-likelihood is relative to no item being positive, by Bethe's approximation from the same messages.

    Args:
        prior: float[n_items] in (0, 1), independent.
        members: float[n_tests, n_items], 1 where the item takes part in the test.
        log_ratio: float[n_tests], log-likelihood of the outcome without any positive minus with one or more.
    """
    prior_odds = np.log(prior) - np.log1p(-prior)
    ratio = np.exp(np.clip(log_ratio, -_LIMIT, _LIMIT))[:, None]
    messages = _messages(prior_odds.astype(np.float32), members.astype(np.float32), ratio.astype(np.float32))
    marginals = expit(prior_odds + messages.sum(axis=0))
    return marginals, _log_likelihood(prior, members, messages, ratio)


def _messages(prior_odds: Single, members: Single, ratio: Single) -> Array:
    """Returns float[n_tests, n_items], the log-odds that each test tells each item.

    In single precision: several times as fast, and finer than what is damped and clipped needs.
    """
    messages = np.zeros_like(members)
    for _ in range(_ROUNDS if len(members) else 0):
        cavity = prior_odds + messages.sum(axis=0) - messages
        log_negative = -np.log(1 + np.exp(np.minimum(cavity, _CERTAIN))) * members
        others_negative = np.exp(log_negative.sum(axis=1, keepdims=True) - log_negative)
        # With this item positive the test reacts; with it negative the others decide.
        fresh = -np.log(others_negative * ratio + 1 - others_negative) * members
        messages = _DAMPING * messages + (1 - _DAMPING) * np.clip(fresh, -_LIMIT, _LIMIT)
    return messages.astype(np.float64)


def _log_likelihood(prior: Array, members: Array, messages: Array, ratio: Array) -> float:
    """Returns Bethe's log-likelihood: that of the items and of the tests, less that of what they tell each other."""
    prior_odds = np.log(prior) - np.log1p(-prior)
    cavity = prior_odds + messages.sum(axis=0) - messages
    negative, positive = -np.logaddexp(0.0, messages), -np.logaddexp(0.0, -messages)
    log_cavity = -np.logaddexp(0.0, cavity)
    items = np.logaddexp(
        np.log1p(-prior) + (negative * members).sum(axis=0), np.log(prior) + (positive * members).sum(axis=0)
    )
    nobody = np.exp((log_cavity * members).sum(axis=1))
    tests = np.log(nobody + (1 - nobody) / ratio[:, 0])
    told = np.logaddexp(log_cavity + negative, cavity + log_cavity + positive) * members
    return float(items.sum() + tests.sum() - told.sum())
