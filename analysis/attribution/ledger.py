"""The record of everything drawn, and the only place where rounds go out to the caller."""

from collections.abc import Generator, Mapping
from typing import Final, TypeAlias, TypeVar

from .problem import Draw, Replies, Round, Tally

T = TypeVar("T")
Steps: TypeAlias = Generator[Round, Replies, T]
"""A procedure that draws: it yields rounds, receives replies, and returns a T."""

NOTHING: frozenset[int] = frozenset()
"""The removal of the baseline."""
UNCAPPED: Final = 1_000_000
"""The budget where only what is paid for counts, which the replay engine caps."""


class BudgetEnded(Exception):
    """No more samples may be drawn; what is in the ledger stays valid."""


class Ledger:
    """Counts of every removal drawn so far."""

    def __init__(self, *, budget: int, samples_per_call: int = 1) -> None:
        self._budget = budget
        self.samples_per_call = samples_per_call
        self._tallies: dict[frozenset[int], Tally] = {}
        self.draws = 0
        self.rounds = 0

    @property
    def baseline(self) -> Tally:
        """Counts of the unchanged request."""
        return self.tally(NOTHING)

    @property
    def base_rate(self) -> float:
        """A rate of the decision for planning: shrunk, and kept off 0 and 1."""
        return min(0.98, max(0.03, (self.baseline.target + 0.5) / (self.baseline.draws + 1)))

    @property
    def spent(self) -> int:
        """The draws in units of what one call gives; what the search has patience for."""
        return self.draws // self.samples_per_call

    def tally(self, removal: frozenset[int]) -> Tally:
        """Returns the counts of one removal."""
        return self._tallies.get(removal, Tally())

    def tests(self) -> Mapping[frozenset[int], Tally]:
        """Returns the counts of every removal but the empty one, in order of the first draw."""
        return {removal: tally for removal, tally in self._tallies.items() if removal}

    def draw(self, wishes: Mapping[frozenset[int], int]) -> Steps[None]:
        """Sends one round with `wishes` samples per removal, as many times as one call gives, and records the outcomes.

        Raises:
            BudgetEnded: the budget allows less than was wished, or the caller sent fewer outcomes; those it sent count.
        """
        wanted = tuple(
            Draw(removal=removal, count=count * self.samples_per_call) for removal, count in wishes.items() if count > 0
        )
        allowed = self._within_budget(wanted)
        if allowed:
            replies = yield allowed
            self._record(allowed, replies)
            self.rounds += 1
            if [len(reply) for reply in replies] != [draw.count for draw in allowed]:
                raise BudgetEnded
        if allowed != wanted:
            raise BudgetEnded

    def _within_budget(self, wanted: Round) -> Round:
        """Cuts a round to what the budget leaves, from its end, so that a continued run repeats the same samples."""
        left = self._budget - self.draws
        allowed = []
        for draw in wanted:
            count = min(draw.count, left)
            left -= count
            if count > 0:
                allowed.append(Draw(removal=draw.removal, count=count))
        return tuple(allowed)

    def _record(self, sent: Round, replies: Replies) -> None:
        for draw, reply in zip(sent, replies, strict=False):
            outcomes = reply[: draw.count]
            self._tallies[draw.removal] = self.tally(draw.removal) + Tally.of(outcomes)
            self.draws += len(outcomes)
