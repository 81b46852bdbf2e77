"""What the attribution core is asked and how it talks to its caller: leaves, draws, outcomes and options.

The core never calls a model. It yields rounds of draws; the caller samples them, concurrently if it likes, and sends
back the outcomes. That keeps the statistics pure and deterministic, and lets one core serve any provider.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Outcome(StrEnum):
    """What the model did in one sample."""

    TARGET = "target"
    """The decision asked about happened."""
    OTHER = "other"
    """A different action."""
    ASKS = "asks"
    """It stopped, asked, or fetched again what was removed."""


class Role(StrEnum):
    """Where a piece of the request sits."""

    TOOL = "tool"
    ASSISTANT = "assistant"
    CALL_ARGUMENTS = "call_arguments"
    USER = "user"
    SYSTEM = "system"
    TOOL_DEFINITION = "tool_definition"

    @property
    def is_given(self) -> bool:
        """Whether the piece was set before the run (user, prompt, tools) rather than read or written in it."""
        return self.distance > 0

    @property
    def distance(self) -> int:
        """How far the piece is from the occasion of a decision: 0 read or written in the run, 1 said by the user, 2 the
        same in every run (prompt, tools).
        """
        return 2 if self in (Role.SYSTEM, Role.TOOL_DEFINITION) else int(self is Role.USER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One removable piece of the request; identical texts are one leaf. Leaves come in the order of the request."""

    text: str
    message: int
    """Which message it belongs to; equal numbers mean the same message."""
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """An order for fresh samples of the decision."""

    removal: frozenset[int]
    """Leaves to remove; empty for the request as it was recorded."""
    count: int


Round: TypeAlias = tuple[Draw, ...]
"""Draws that do not depend on each other."""
Replies: TypeAlias = tuple[tuple[Outcome, ...], ...]
"""For each draw of a round, in order, its outcomes. Fewer than ordered means that the budget has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an attribution is run."""

    alpha: float = 0.05
    """Bound on the expected share of false claims (or on the chance of any, with `fwer`)."""
    budget: int = 200
    """Most samples to draw. Never changes what is drawn before it ends, so a larger budget continues a smaller one."""
    full: bool = False
    """Find every cause, not only enough for a headline."""
    thorough: bool = False
    """Spend more on hidden causes before saying that there is none."""
    fwer: bool = False
    """Bound the chance of any false claim instead of their expected share."""
    given: bool = True
    """Search what was given before the run as well: the prompt, the user's words, the tools."""
    seed: int = 0
    samples_per_call: int = 1
    """Samples of a removal that cost as much as one: more than 1 where the model tells its probabilities."""
    guess: frozenset[int] = frozenset()
    """Leaves that somebody suspects; they are looked at first and are never believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Outcome counts of one removal."""

    target: int = 0
    other: int = 0
    asks: int = 0

    @property
    def draws(self) -> int:
        """Number of samples."""
        return self.target + self.other + self.asks

    @property
    def pair(self) -> tuple[int, int]:
        """(decisions, draws): what the tests of two rates take."""
        return self.target, self.draws

    @property
    def rate(self) -> float:
        """Share of samples with the decision; 0 when nothing was drawn."""
        return self.target / self.draws if self.draws else 0.0

    def __add__(self, more: "Tally") -> "Tally":
        return Tally(target=self.target + more.target, other=self.other + more.other, asks=self.asks + more.asks)

    def __sub__(self, less: "Tally") -> "Tally":
        return Tally(target=self.target - less.target, other=self.other - less.other, asks=self.asks - less.asks)

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> "Tally":
        """Counts outcomes."""
        seen = tuple(outcomes)
        return cls(target=seen.count(Outcome.TARGET), other=seen.count(Outcome.OTHER), asks=seen.count(Outcome.ASKS))
