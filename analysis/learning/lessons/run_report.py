"""What a run reports: its generations, and for each proposal what was measured and why it was admitted or not."""

import math
from dataclasses import dataclass

from ....ingest.calls import Json
from ...statistics.logarithms import from_log
from ..play.plays import Play
from .gate import Decision
from .lesson import Lesson
from .records import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A lesson, who proposed it, and what came of it."""

    generation: int
    role: str
    finding: Finding

    @property
    def reason(self) -> str:
        """Why it was admitted or not, in words."""
        measured = self.finding.measured
        e, needed = f"e-value {from_log(measured.log_help):.3g}", f"{measured.needed:.3g}"
        heldout = f"{len(measured.heldout)} held-out cases"
        match self.finding.decision:
            case Decision.ADMITTED:
                return f"{e} reaches {needed} (lesson {measured.number} of the scenario); {heldout}"
            case Decision.REFUTED:
                return f"it lowers the score: evidence {from_log(measured.log_harm):.3g}"
            case _ if measured.log_help >= math.log(measured.needed):
                return f"{e} reaches {needed}, but {heldout} do not agree"
            case _:
                return f"{e} stays below {needed} (lesson {measured.number} of the scenario)"

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        found = self.finding
        return {
            "generation": self.generation,
            "role": self.role,
            "lesson": found.lesson.text,
            "lesson_id": found.lesson.id,
            "decision": found.decision.value,
            "reason": self.reason,
            "score_without": found.rates[0] if found.measured.blocks else None,
            "score_with": found.rates[1] if found.measured.blocks else None,
            "effect": found.measured.effect,
            "interval": list(found.measured.interval),
            "e_value": from_log(found.measured.log_help),
            "needed": found.measured.needed,
            "cases": len(found.measured.blocks),
            "heldout": len(found.measured.heldout),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What one generation has played."""

    number: int
    served: tuple[Lesson, ...]
    plays: tuple[Play, ...]

    @property
    def score(self) -> float:
        """Mean over the plays."""
        return sum(p.score.score for p in self.plays) / len(self.plays)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run has learned."""

    run: str
    trace_id: str
    generations: tuple[Generation, ...]
    proposals: tuple[Proposal, ...]
    served: tuple[Lesson, ...]
    """In force when it ended."""

    def to_json(self) -> dict[str, Json]:
        """Returns the document that `whyspan run --json` prints."""
        return {
            "run": self.run,
            "trace_id": self.trace_id,
            "generations": [
                {"generation": g.number, "score": g.score, "runs": len(g.plays), "served": len(g.served)}
                for g in self.generations
            ],
            "proposals": [p.to_json() for p in self.proposals],
            "served": [lesson.text for lesson in self.served],
        }
