"""Whether a rate is low enough, decided with stated error rates, at any time, and with few draws.

Two e-values are watched (likelihood ratios, so non-negative martingales under their null, which Ville's inequality
bounds at all times; cf. Ramdas, Grünwald, Vovk and Shafer 2023). One is evidence against "the rate is `max_rate` or
less": the test fails when it reaches 1/alpha. The other is evidence against "the rate is `bad` or more": the test
passes when it reaches 1/beta. So *every* allowed rate fails at random at most as often as `alpha` says, which Wald's
test between two points does not give for rates between them. Rates between `max_rate` and `bad` may end either way, or
stay open.
"""

import math
from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    """What the draws so far say."""

    PASS = "pass"
    FAIL = "fail"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTest:
    """Tests that an event's rate is at most `max_rate`."""

    max_rate: float
    """In (0, 1)."""
    alpha: float = 0.01
    """Bound on the chance that an allowed rate, `max_rate` or less, fails."""
    beta: float = 0.05
    """Bound on the chance that a bad rate, `bad` or more, passes."""

    def __post_init__(self) -> None:
        if not 0 < self.max_rate < 1:
            raise ValueError(f"max_rate must lie between 0 and 1, not {self.max_rate}")

    @property
    def bad(self) -> float:
        """The rate from which on it should fail: four times `max_rate`, or near 1 the middle between it and 1."""
        return min(4 * self.max_rate, (1 + self.max_rate) / 2)

    def log_evidence_of_excess(self, hits: int, draws: int) -> float:
        """Returns the natural logarithm of the e-value against "the rate is at most `max_rate`"."""
        return _log_likelihood(self.bad, hits, draws) - _log_likelihood(self.max_rate, hits, draws)

    def log_evidence_of_compliance(self, hits: int, draws: int) -> float:
        """Returns the natural logarithm of the e-value against "the rate is at least `bad`".

        The alternative is half a rate well below the allowed one, for speed, and half the allowed one itself.
        """
        good, allowed = (_log_likelihood(rate, hits, draws) for rate in (self.max_rate / 5, self.max_rate))
        mixture = max(good, allowed) + math.log1p(math.exp(-abs(good - allowed))) - math.log(2)
        return mixture - _log_likelihood(self.bad, hits, draws)

    def answer(self, hits: int, draws: int) -> Answer:
        """Decides from `hits` events in `draws` samples."""
        if self.log_evidence_of_excess(hits, draws) >= -math.log(self.alpha):
            return Answer.FAIL
        if self.log_evidence_of_compliance(hits, draws) >= -math.log(self.beta):
            return Answer.PASS
        return Answer.OPEN

    def draws_to_pass(self, hits: int, draws: int) -> int:
        """Returns how many more draws pass the test when the event does not happen in any of them."""
        more = 0
        while self.log_evidence_of_compliance(hits, draws + more) < -math.log(self.beta):
            more += 1
        return more


def _log_likelihood(rate: float, hits: int, draws: int) -> float:
    return hits * math.log(rate) + (draws - hits) * math.log1p(-rate)
