"""How far a fix reaches beyond the decision it was measured on: other runs that failed in the same way."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...ingest.calls import Json
from ..attribution.problem import Outcome, Tally
from ..cases import Case
from ..experiment import Experiment
from ..interventions import Noop
from ..statistics.intervals import rate_interval
from .candidates import Candidate, is_applicable

DRAWS = 24
"""Over all runs together; every run gets at least LEAST."""
LEAST = 4
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What is left of the rate in one failing run."""

    case: Case
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """What is left of the rate in other failing runs, each drawn equally often."""

    runs: tuple[Reach, ...]

    @property
    def tally(self) -> Tally:
        """The outcomes of all runs."""
        return sum((r.tally for r in self.runs), Tally())

    @property
    def leaking(self) -> int:
        """In how many runs it happened in spite of the fix."""
        return sum(r.tally.target > 0 for r in self.runs)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean rate over these runs."""
        found = rate_interval(self.tally.target, self.tally.draws, alpha=1 - CONFIDENCE)
        return found.low, found.high

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        runs = [
            {"trace_id": r.case.origin.trace_id, "target": r.tally.target, "draws": r.tally.draws} for r in self.runs
        ]
        return {"runs": runs, "leaking": self.leaking, "interval": list(self.interval)}


async def look_further(experiments: Sequence[Experiment], candidates: Sequence[Candidate]) -> tuple[Horizon, ...]:
    """Measures candidates on other failing cases, one experiment each; one result for each candidate, in order.

    A change that does not find what it changes in a run, such as a corrected source, leaves that run as it was. Where
    the budget ends, the draws that all runs have are counted.
    """
    draws = max(LEAST, math.ceil(DRAWS / max(len(experiments), 1)))
    rows = await asyncio.gather(*(_draw(e, candidates, draws) for e in experiments))
    return tuple(_horizon(experiments, [row[i] for row in rows]) for i in range(len(candidates)))


async def _draw(experiment: Experiment, candidates: Sequence[Candidate], draws: int) -> Sequence[Sequence[Outcome]]:
    case = experiment.case
    changes = [c.intervention if is_applicable(c.intervention, case) else Noop() for c in candidates]
    return await experiment.draw_all([(change, draws, None) for change in changes])


def _horizon(experiments: Sequence[Experiment], outcomes: Sequence[Sequence[Outcome]]) -> Horizon:
    draws = min((len(o) for o in outcomes), default=0)
    pairs = zip(experiments, outcomes, strict=True)
    return Horizon(runs=tuple(Reach(case=e.case, tally=Tally.of(o[:draws])) for e, o in pairs))
