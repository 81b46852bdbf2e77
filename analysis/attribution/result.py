"""What an attribution found: claims with their evidence, what was tried besides, and why it stopped."""

from dataclasses import dataclass
from enum import StrEnum

from ..statistics.intervals import Interval
from .problem import Tally


class Kind(StrEnum):
    """How the removed pieces take part in the decision."""

    PUSHES = "pushes"
    """Without it the model does something else."""
    REQUIRED = "required"
    """Without it the model lacks an input: it asks, stops or fetches it again."""
    REDUNDANT = "redundant"
    """Any one of these pieces is enough; only removing all of them lowers the rate."""
    JOINT = "joint"
    """One of several pieces that are needed together; each has its own claim."""
    MASKED = "masked"
    """A cause beside a suppressor: removing both restores the decision."""
    DIFFUSE = "diffuse"
    """Many small contributions; the set as a whole matters, no small part of it does."""


class Stop(StrEnum):
    """Why the attribution ended."""

    FOUND = "found"
    """Enough causes were claimed for the mode asked for."""
    NO_CAUSE = "no_cause"
    """The decision does not depend on any piece tested, as far as the search could see."""
    UNRESOLVED = "unresolved"
    """Removing something seems to lower the rate, but no cause could be confirmed; `open` says what."""
    RARE = "rare"
    """The decision is too rare to be explained by sampling."""
    BUDGET = "budget"
    """The budget ended; `open` says what is left. A larger budget continues from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A removal that lowers the rate of the decision, with the evidence for it."""

    removal: frozenset[int]
    """Leaves whose joint removal was tested on fresh draws."""
    kind: Kind
    with_pieces: Tally
    """Baseline draws, shared by all claims."""
    without_pieces: Tally
    """Draws with the pieces removed, made after the removal was nominated; says what the model did instead."""
    e_value: float
    """Evidence against "the removal does not lower the rate"; at least 1 / `alpha_t`."""
    alpha_t: float
    """The level that this removal was nominated at."""
    drop: Interval
    """Anytime-valid interval of the rate with the pieces minus the rate without them, at level `Options.alpha`."""
    has_large_effect: bool
    """Whether the drop is large enough for a headline: half of the rate or more."""
    at_draw: int
    """How many samples the attribution had drawn, of any kind, when the evidence sufficed."""
    suppressors: frozenset[int] = frozenset()
    """For a masked cause: pieces whose removal together with it restored the decision, seen in the search."""
    members: tuple[tuple[int, Tally], ...] = ()
    """For a redundant set: each member, and what the model did when it alone of the set was kept."""

    @property
    def effect(self) -> float:
        """The estimated drop of the rate."""
        return self.with_pieces.rate - self.without_pieces.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """A removal that was sampled."""

    removal: frozenset[int]
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Nominated:
    """A removal that was put to the test, whether it was claimed or given up."""

    removal: frozenset[int]
    tally: Tally
    """Draws made after it was nominated."""
    log_e: float
    """Logarithm of the e-value when the attribution ended, wherever that left the removal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dose:
    """How often the decision happened when a share of the content was removed at random."""

    share: float
    """Share of the searched leaves that was removed, in [0, 1]."""
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The whole result. Claims alone carry error control; everything else is what the search saw."""

    stop: Stop
    baseline: Tally
    claims: tuple[Claim, ...]
    headline: Claim | None
    """The claim to show first: the largest push with a large effect, pieces the agent read before given ones."""
    tested: tuple[Tested, ...]
    """Every removal sampled, in order of its first draw."""
    nominated: tuple[Nominated, ...]
    """Every removal put to the test, in that order: the claims, and those that would have been."""
    suspicion: tuple[float, ...]
    """For each leaf the search's final belief, in [0, 1], that removing it alone ends the decision."""
    dose: tuple[Dose, ...]
    """For a diffuse cause, the rate by share removed; else empty."""
    notes: tuple[str, ...]
    open: tuple[str, ...]
    """What was not tested or not settled."""
    rounds: int
    draws: int
