"""What a method gives that ranks pieces without testing any: a number a leaf."""

from dataclasses import dataclass
from enum import StrEnum

from ..problem import Tally


class Method(StrEnum):
    """A way to rank the pieces of a request."""

    LOO = "loo"
    """Leave-one-out: each piece removed alone, a few samples each."""
    CONTEXTCITE = "contextcite"
    """A sparse linear fit to what happens when random halves are removed (ContextCite)."""
    JUDGE = "judge"
    """The model is asked once which piece made it decide so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The ranking of a method. Nothing bounds how often it is wrong."""

    values: tuple[float, ...]
    """Score of each leaf; what it measures is the method's own. 0 for a leaf that the method did not look at."""
    threshold: float = 0.0
    """Score below which the method names nothing."""
    baseline: Tally
    """Samples of the unchanged request; empty when the method takes none."""
    draws: int
    """Samples and questions, of any kind."""
    is_complete: bool
    """False when the budget ended first."""

    @property
    def ranked(self) -> list[int]:
        """The leaves that score above 0, the highest first, later ones first among equals."""
        order = sorted(range(len(self.values)), key=lambda leaf: (self.values[leaf], leaf), reverse=True)
        return [leaf for leaf in order if self.values[leaf] > 0]

    @property
    def named(self) -> int | None:
        """The leaf that a reader of the ranking would take for the cause."""
        first = next(iter(self.ranked), None)
        return first if first is not None and self.values[first] >= self.threshold else None
