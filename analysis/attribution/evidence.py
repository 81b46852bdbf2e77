"""What the tests say for a removal that ends the decision, before it is known which removals do.

A test is compared under settings that all tests share: how much of the rate survives the removal of a cause, and how
far the log-odds of the decision rise as content goes, whatever it is. Real models decide more firmly when less else is
said, and fall back on a usual answer when nearly nothing is left; so a decision that comes back when nearly everything
is gone does not clear the pieces that went.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from .likelihood import DOSE_SLOPES, Outcomes, shifted
from .structures import Array

RESIDUALS: Final = np.array([0.02, 0.1, 0.3, 0.5])
_LOG_RESIDUAL_WEIGHTS: Final = np.log(np.array([0.4, 0.25, 0.25, 0.1]))
RISES: Final = np.array([0.0, 2.0])
"""Rise of the log-odds of the decision from nothing to everything removed."""
_LOG_RISE_WEIGHTS: Final = np.log(np.array([0.85, 0.15]))
TYPICAL: Final = (0, 1)
"""Indices of the rise and the residual that stand for all where one setting has to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Log-likelihoods of the tests, relative to "nothing in any set matters, and the rate does not rise"."""

    members: Array
    """float[n_tests, n_pool]: 1 where a leaf was removed."""
    ended: Array
    """float[n_rises, n_residuals, n_tests]: each test if its set ends the decision, minus if nothing in it matters."""
    settings: Array
    """float[n_rises, n_residuals]: log prior of each setting and the log-likelihood of all tests without a cause."""
    none: float
    """All tests without a cause."""
    diffuse: float
    """All tests with a diffuse cause."""
    many: float
    """All tests with three copies or more."""


def weigh(members: Array, outcomes: Outcomes, *, required: Array, weights: Array) -> Evidence:
    """Returns what tests say.

    Args:
        members: float[n_tests, n_pool], 1 where a leaf was removed.
        outcomes: what the model did in each test.
        required: float[n_pool], the chance that each leaf is a required input; it explains tests where the model asks.
        weights: float[n_pool], sums to 1: where a cause is expected.
    """
    share = members.mean(axis=1)
    clear = np.exp(members @ np.log1p(-np.minimum(required, 1 - 1e-6)))
    asked = np.log(np.maximum(1 - clear, 1e-9)) + outcomes.log_required()

    def mixed(log: Array) -> Array:
        return outcomes.soften(np.logaddexp(np.log(clear) + log, asked), share)

    plain = [mixed(outcomes.log_rate(shifted(outcomes.base_rate, rise * share))) for rise in RISES]
    ended = np.array(
        [
            [mixed(outcomes.log_pushed(residual, rise * share)) - without for residual in RESIDUALS]
            for rise, without in zip(RISES, plain, strict=True)
        ]
    )
    rises = _LOG_RISE_WEIGHTS + [(without - plain[0]).sum() for without in plain]
    doses = [mixed(outcomes.log_rate(shifted(outcomes.base_rate, -slope * share))) - plain[0] for slope in DOSE_SLOPES]
    # Three copies in unknown places all lie in a set of weight w with chance w^3; tests are taken as independent.
    covered = np.minimum(members @ weights, 1 - 1e-6) ** 3
    return Evidence(
        members=members,
        ended=ended,
        settings=rises[:, None] + _LOG_RESIDUAL_WEIGHTS,
        none=float(np.logaddexp.reduce(rises)),
        diffuse=float(np.logaddexp.reduce([dose.sum() for dose in doses]) - np.log(len(doses))),
        many=float(np.log1p(covered * np.expm1(np.minimum(ended[TYPICAL], 50.0))).sum()),
    )
