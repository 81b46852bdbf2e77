"""The gate: what must be measured before a lesson is served. No model has a say in it.

The j-th lesson that a scenario ever tests is admitted at an e-value of at least j (j + 1) / alpha. As these levels
sum to alpha, the chance that *any* useless lesson is ever admitted is at most alpha, whenever one stops and whatever
earlier results made somebody propose it.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from ...statistics.betting import log_e_above, log_e_below, mean_interval
from ...statistics.levels import admission_level


class Strategy(StrEnum):
    """How easily a lesson is admitted."""

    CONSERVATIVE = "conservative"
    """At most 1 % of scenarios ever serve a useless lesson; held-out cases must agree."""
    AGGRESSIVE = "aggressive"
    """At most 20 %; held-out cases are welcome."""
    NONE = "none"
    """Lessons are measured, none is served."""

    @property
    def alpha(self) -> float:
        """The chance of ever admitting a useless lesson."""
        return 0.2 if self is Strategy.AGGRESSIVE else 0.01

    @property
    def needs_heldout(self) -> bool:
        """Whether cases that were kept out must agree."""
        return self is not Strategy.AGGRESSIVE


class Decision(StrEnum):
    """What the gate says."""

    ADMITTED = "admitted"
    REFUTED = "refuted"
    """It was shown to harm."""
    INCONCLUSIVE = "inconclusive"
    OPEN = "open"
    """More pairs may decide it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What a lesson does to the score of a case, pair by pair."""

    number: int
    """j: how many lessons the scenario has tested, this one included; at least 1."""
    alpha: float
    blocks: tuple[float, ...]
    """A case each: its mean score with the lesson minus that without, in [-1, 1]."""
    heldout: tuple[float, ...] = ()
    """The same for cases that neither proposing nor confirming has seen."""

    @property
    def needed(self) -> float:
        """The e-value that admits it."""
        return 1 / admission_level(self.number, self.alpha)

    @property
    def log_help(self) -> float:
        """Logarithm of the evidence that it helps."""
        return log_e_above(self.blocks)

    @property
    def log_harm(self) -> float:
        """Logarithm of the evidence that it harms."""
        return log_e_below(self.blocks)

    @property
    def effect(self) -> float:
        """Mean of the blocks; 0 when there is none."""
        return sum(self.blocks) / len(self.blocks) if self.blocks else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the mean."""
        return mean_interval(self.blocks)

    def decide(self, *, left: int = 0) -> Decision:
        """Returns the decision; `left` is how many more pairs there can be.

        It is open only while the pairs that are left, were they all perfect, could admit or refute it.
        """
        if self.log_help >= math.log(self.needed):
            return Decision.ADMITTED
        if self.is_harmful:
            return Decision.REFUTED
        best = log_e_above([*self.blocks, *([1.0] * left)])
        return Decision.OPEN if left and best >= math.log(self.needed) else Decision.INCONCLUSIVE

    @property
    def is_harmful(self) -> bool:
        """Whether it was shown to lower the score."""
        return self.log_harm >= -math.log(self.alpha)

    @property
    def holds_out(self) -> bool:
        """Whether the held-out cases agree, as far as their mean says."""
        return bool(self.heldout) and sum(self.heldout) > 0


def judge(measured: Measurement, strategy: Strategy) -> Decision:
    """Returns the final decision about a lesson that was measured to the end."""
    decision = measured.decide()
    if decision is Decision.ADMITTED and strategy.needs_heldout and not measured.holds_out:
        return Decision.INCONCLUSIVE
    return decision


def pairs_needed(number: int, alpha: float, *, effect: float = 1.0) -> int:
    """Returns how many equal blocks of `effect`, in (0, 1], admit the `number`-th lesson: a size for a set of cases."""
    blocks = [effect]
    while log_e_above(blocks) < -math.log(admission_level(number, alpha)):
        blocks.append(effect)
    return len(blocks)
