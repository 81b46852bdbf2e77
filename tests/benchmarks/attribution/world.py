"""A simulated decision with a known cause: the context, and how the model behaves for any part of it removed.

Independent of both tools under test, so that the same world can be given to each in its own environment.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

MARK = "Zq{}x"
"""A word unique to each leaf; the stand-in model reads from it which leaves a request still holds."""

RATES = {
    "det": (1.0, 0.0),
    "s9010": (0.9, 0.1),
    "s9030": (0.9, 0.3),
    "s6005": (0.6, 0.05),
    "s3500": (0.35, 0.0),
    "or2": (0.92, 0.05),
    "or3": (0.92, 0.05),
    "and2": (0.92, 0.05),
    "and3": (0.92, 0.05),
    "req": (0.92, 0.06),
    "supp": (0.92, 0.08),
    "null": (0.9, 0.9),
    "null35": (0.35, 0.35),
    "null60": (0.6, 0.6),
    "null100": (1.0, 1.0),
}
"""Rate of the decision with and without its cause, by scenario."""
SCENARIOS = (*RATES, "diffuse")
RATE_WITHOUT_REQUIRED = 0.02
MEMBERS = {"or2": 2, "or3": 3, "and2": 2, "and3": 3}


@dataclass
class Message:
    """One message: a role, how its content is laid out, and its leaves in groups (paragraphs or items)."""

    role: str
    layout: str
    """`text`, `json`, `tool_definition` or `call_arguments`."""
    groups: list[list[int]] = field(default_factory=list)


@dataclass
class World:
    """A context, its decision, and the truth about it."""

    scenario: str
    seed: int
    messages: list[Message]
    texts: list[str]
    """Text of each leaf, its mark included."""
    roles: list[str]
    homes: list[int]
    """Message of each leaf."""
    decision_tool: str
    decision_arguments: dict[str, str]
    causes: frozenset[int]
    present: float
    """Rate of the decision in the unchanged context."""
    absent: float
    """Rate with the cause removed."""
    suppressors: frozenset[int] = frozenset()
    required: frozenset[int] = frozenset()
    misfit: float = 0.0
    """Spread of a per-removal shift of the log-odds: how far the model is from the clean rule."""

    @property
    def size(self) -> int:
        return len(self.texts)

    def rate(self, removed: frozenset[int]) -> float:
        """Returns the chance of the decision with some leaves removed."""
        if removed & self.required:
            return RATE_WITHOUT_REQUIRED
        rate = self._clean_rate(removed)
        if self.misfit and removed and 0 < rate < 1:
            shift = random.Random(f"{self.seed}{sorted(removed)}").gauss(0, self.misfit)
            rate = 1 / (1 + math.exp(-(math.log(rate / (1 - rate)) + shift)))
        return rate

    def _clean_rate(self, removed: frozenset[int]) -> float:
        gone = self.causes & removed
        if self.scenario == "diffuse":
            return 1 / (1 + math.exp(-(2.4 - 4.8 * len(gone) / max(len(self.causes), 1))))
        if self.scenario.startswith("or"):
            return self.absent if gone == self.causes else self.present
        if self.scenario == "supp":
            return self.absent if gone and not removed & self.suppressors else self.present
        return self.absent if gone else self.present

    def outcome(self, removed: frozenset[int], rng: random.Random) -> str:
        """Draws what the model does: `target`, `other` or `asks`."""
        if rng.random() < self.rate(removed):
            return "target"
        return "asks" if removed & self.required else "other"

    def effect(self, removed: frozenset[int]) -> float:
        """Returns how much a removal lowers the rate."""
        return self.rate(frozenset()) - self.rate(removed)

    @property
    def has_cause(self) -> bool:
        return bool(self.causes)


def is_hit(world: World, named: frozenset[int] | None) -> bool:
    """Whether the headline names true cause leaves only."""
    return bool(named) and world.causes >= (named or frozenset())


def is_exact(world: World, claims: list[frozenset[int]]) -> bool:
    """Whether the whole structure was claimed: every needed leaf on its own, a redundant set as one."""
    if not world.causes:
        return not claims
    if world.scenario.startswith("or"):
        return world.causes in claims
    return all(frozenset([cause]) in claims for cause in world.causes)
