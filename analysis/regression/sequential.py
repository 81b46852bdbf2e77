"""Whether a rate is low enough, decided with stated error rates and as few draws as possible.

Wald's sequential probability ratio test (Wald 1945) between a good rate, a fifth of the largest allowed one, and a bad
rate, four times that: a test passes or fails at random only as often as `alpha` and `beta` say.
"""

import math
from dataclasses import dataclass
from enum import Enum


class Answer(Enum):
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
    """Chance that a good rate (max_rate / 5 or less) fails."""
    beta: float = 0.05
    """Chance that a bad rate (four times max_rate or more) passes."""

    def __post_init__(self) -> None:
        if not 0 < self.max_rate < 1:
            raise ValueError(f"max_rate must lie between 0 and 1, not {self.max_rate}")

    @property
    def good(self) -> float:
        """A rate that should pass."""
        return self.max_rate / 5

    @property
    def bad(self) -> float:
        """A rate that should fail; near 1 it is the middle between max_rate and 1."""
        return min(4 * self.max_rate, (1 + self.max_rate) / 2)

    def answer(self, hits: int, draws: int) -> Answer:
        """Decides from `hits` events in `draws` samples."""
        ratio = hits * math.log(self.bad / self.good) + (draws - hits) * math.log((1 - self.bad) / (1 - self.good))
        if ratio <= math.log(self.beta / (1 - self.alpha)):
            return Answer.PASS
        if ratio >= math.log((1 - self.beta) / self.alpha):
            return Answer.FAIL
        return Answer.OPEN
