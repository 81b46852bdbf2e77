"""`fix`: which changes stop a decision, measured on the failing case."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...ingest.calls import Json
from ..attribution.problem import Options
from ..attribution.why import WhyReport, find_cause
from ..cases import Case
from ..claims import Claim, Verdict
from ..desk import Desk, open_desk
from ..interventions import Drop
from .candidates import classic_candidates
from .verify import Measured, measure


@dataclass(frozen=True, slots=True, kw_only=True)
class FixReport:
    """What `fix` measured for one decision."""

    case: Case
    why: WhyReport
    measured: tuple[Measured, ...]
    """Best first."""
    calls: int
    """Replays used on the candidates."""
    paid: int
    """Replays that this run had to pay for, the search for the cause included."""

    @property
    def best(self) -> Measured | None:
        """The measured change with the lowest upper bound on what is left; None when nothing is supported."""
        first = self.measured[0] if self.measured else None
        return first if first and first.claim.verdict is Verdict.SUPPORTED else None

    @property
    def best_rule(self) -> Measured | None:
        """The best change that a system prompt can carry, and so a regression test can hold."""
        return next((m for m in self.measured if m.candidate.rule and m.claim.verdict is Verdict.SUPPORTED), None)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all candidates."""
        return tuple(m.claim for m in self.measured)

    def to_json(self) -> dict[str, Json]:
        """Returns the document that `whyspan fix --json` prints."""
        return {
            "case_id": self.case.id,
            "target": self.case.target.spec,
            "best": self.best.candidate.name if self.best else None,
            "candidates": [
                {
                    "name": m.candidate.name,
                    "rule": m.candidate.rule,
                    "verdict": m.word,
                    "residual_interval": list(m.residual),
                    "claim": m.claim.to_json(),
                }
                for m in self.measured
            ],
            "why": self.why.to_json(),
            "replays": self.calls,
            "paid": self.paid,
        }


def fix(
    run: str = "last",
    event: str = "last",
    *,
    store: str | None = None,
    model_fn: str | Callable[[dict[str, Any]], Any] = "",
    base_url: str = "",
    budget: int | None = None,
) -> FixReport:
    """Measures which changes stop a decision: `whyspan fix`, for Python. The arguments are those of `whyspan.why`."""
    with open_desk(store=store, model_fn=model_fn, base_url=base_url, budget=budget) as desk:
        return asyncio.run(find_fixes(desk, desk.case(run, event), Options()))


async def find_fixes(desk: Desk, case: Case, options: Options) -> FixReport:
    """Finds the cause (for free when `why` has just found it), then measures candidates against the decision."""
    why = await find_cause(desk, case, options)
    candidates = classic_candidates(case, _source(why))
    async with desk.experiment(case, "fix") as trial:
        measured = await measure(trial, candidates, alpha=options.alpha)
    report = FixReport(case=case, why=why, measured=measured, calls=len(trial.trials), paid=why.paid + trial.paid)
    desk.keep(report.claims)
    return report


def _source(why: WhyReport) -> Drop | None:
    """The removal of the headline's pieces, when they are something that the agent read."""
    head = why.attribution.headline
    if head is None:
        return None
    given = any(s.role.is_given for g in head.removal for s in why.segmentation.group(g))
    return None if given else Drop.of(why.segmentation, head.removal)
