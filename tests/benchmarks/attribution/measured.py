"""Generator 4: decisions of a real small model, by the measured effect of each of their pieces.

The log-odds of a decision with some pieces removed are its own plus what each piece's removal was measured to change.
That is exact for one piece and an approximation for more: it predicts the measured probability of 440 random halves
with a correlation of 0.62. Pieces other than the planted one have effects as well, the question and the system prompt
often larger ones, so a headline that names only the planted piece is a hit, and another one need not be false.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.benchmarks.attribution.recorded import Pieces
from tests.benchmarks.attribution.world import World

EFFECTS = Path(__file__).parents[2] / "fixtures" / "realmodel" / "effects.json"
SCENARIO = "measured"
_FARTHEST = 0.003
"""Probabilities are kept this far from 0 and 1, where their log-odds would say too much."""


@dataclass
class MeasuredWorld(World):
    """A world whose every piece has an effect of its own."""

    shifts: dict[int, float] = field(default_factory=dict)
    """Leaf → change of the log-odds when it is removed."""

    def _clean_rate(self, removed: frozenset[int]) -> float:
        return 1 / (1 + math.exp(-_log_odds(self.present) - sum(self.shifts[leaf] for leaf in removed)))


def build(scenario: str, size: int, seed: int) -> World:
    """Returns the decision whose number is `seed` modulo their count; each has 12 to 23 pieces, whatever the size."""
    if scenario != SCENARIO:
        raise SystemExit(f"the measured decisions know one scenario: --scenarios {SCENARIO}")
    measured = decisions()[seed % len(decisions())]
    system = [piece for piece in measured["pieces"] if piece["role"] == "system"]
    user = [piece for piece in measured["pieces"] if piece["role"] != "system"]
    leaves, made = [*system, *user], Pieces()
    made.add(("system", "text", [piece["text"] for piece in system]))
    made.add(("user", "text", [piece["text"] for piece in user]))
    planted = frozenset(i for i, piece in enumerate(leaves) if piece["role"] == "planted")
    return MeasuredWorld(
        scenario=scenario,
        seed=seed,
        messages=made.messages,
        texts=made.texts,
        roles=made.roles,
        homes=made.homes,
        decision_tool=measured["predicate"]["value"],
        decision_arguments={},
        causes=planted,
        present=measured["base"],
        absent=leaves[min(planted)]["without"],
        shifts={i: _log_odds(piece["without"]) - _log_odds(measured["base"]) for i, piece in enumerate(leaves)},
    )


@cache
def decisions() -> list[dict[str, Any]]:
    """Returns the measured decisions."""
    found: list[dict[str, Any]] = json.loads(EFFECTS.read_text("utf-8"))
    return found


def _log_odds(probability: float) -> float:
    p = min(1 - _FARTHEST, max(_FARTHEST, probability))
    return math.log(p / (1 - p))
