"""`fix`: which changes stop a decision, measured on the failing case, on other failing runs, and on what was right."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from ...ingest.calls import Json
from ..attribution.problem import Options
from ..attribution.why import WhyReport, find_cause
from ..cases import Case
from ..claims import Claim
from ..desk import Desk, open_desk
from ..experiment import Experiment
from ..interventions import Drop
from .candidates import Candidate, Source, built_in_candidates
from .guarding import GUARD_DRAWS, guard
from .guards import GuardCase, find_guards
from .horizon import look_further
from .own import OwnCandidates
from .proposals import propose
from .verify import Measured, measure, ranked

FINALISTS = 2
"""So many of the best candidates at once are also measured on guard cases and on other failing runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixPlan:
    """What to measure besides the built-in candidates, and where."""

    own: tuple[Candidate, ...] = ()
    proposals: int = 0
    """Rules to ask a model for."""
    proposing_model: str = ""
    """The model to ask for them; that of the case when empty."""
    also: tuple[Case, ...] = ()
    """The same failure in other runs."""
    guards: tuple[GuardCase, ...] = ()
    """Decisions that must stay right, besides those found in the store."""


PLAIN = FixPlan()


@dataclass(frozen=True, slots=True, kw_only=True)
class FixReport:
    """What `fix` measured for one decision."""

    case: Case
    why: WhyReport
    measured: tuple[Measured, ...]
    """Best first: by the largest rate that may be left, harmful and unsupported ones last."""
    guards: tuple[GuardCase, ...] = ()
    """Decisions that must stay right."""
    calls: int
    """Replays used on the candidates."""
    paid: int
    """Replays that this run had to pay for, the search for the cause included."""
    is_cut_short: bool = False
    """Whether the budget ended before all was measured."""

    @property
    def best(self) -> Measured | None:
        """The supported change with the lowest upper bound on what is left; None when nothing is supported."""
        return next((m for m in self.measured if m.is_supported), None)

    @property
    def best_rule(self) -> Measured | None:
        """The best change that a system prompt can carry, and so a regression test can hold."""
        return next((m for m in self.measured if m.is_supported and m.candidate.changes_prompt), None)

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
            "candidates": [m.to_json() for m in self.measured],
            "guards": [{"reason": g.reason, "target": g.case.target.spec, "case_id": g.case.id} for g in self.guards],
            "why": self.why.to_json(),
            "replays": self.calls,
            "paid": self.paid,
            "is_cut_short": self.is_cut_short,
        }


def fix(
    run: str = "last",
    event: str = "last",
    *,
    store: str | None = None,
    model_fn: str | Callable[[dict[str, Any]], Any] = "",
    base_url: str = "",
    budget: int | None = None,
    candidates: Sequence[str] = (),
) -> FixReport:
    """Measures which changes stop a decision: `whyspan fix`, for Python.

    `candidates` are rules, or files that hold one; the other arguments are those of `whyspan.why`.
    """
    plan = FixPlan(own=OwnCandidates(rules=candidates).candidates())
    with open_desk(store=store, model_fn=model_fn, base_url=base_url, budget=budget) as desk:
        return asyncio.run(find_fixes(desk, desk.case(run, event), Options(), plan))


async def find_fixes(
    desk: Desk, case: Case, options: Options, plan: FixPlan = PLAIN, *, why: WhyReport | None = None
) -> FixReport:
    """Finds the cause (for free when `why` has just found it), then measures candidates.

    The report `why` spares the search. All are measured on the failing case. The best go on to the same failure in
    other runs and to guard cases.
    """
    also = tuple({c.id: c for c in plan.also if c.id != case.id}.values())
    why = why or await find_cause(desk, case, options)
    source = _source(why)
    cause = source.removal.texts if source else ()
    guards = (*plan.guards, *find_guards(desk, case, cause, also))
    reserve = (FINALISTS + 1) * GUARD_DRAWS if guards else 0
    async with desk.experiment(case, "fix") as trial:
        proposed = await propose(trial, cause, plan.proposals, model=plan.proposing_model) if plan.proposals else ()
        candidates = (*built_in_candidates(case, source), *plan.own, *proposed)
        measured = await measure(trial, candidates, alpha=options.alpha, reserve=reserve)
    measured, further = await _finals(desk, measured, also, guards, options.alpha)
    report = FixReport(
        case=case, why=why, measured=measured, guards=guards, calls=trial.drawn + further.calls,
        paid=why.paid + trial.paid + further.paid,
        is_cut_short=desk.budget.is_exhausted or any(m.is_unfinished for m in measured),
    )  # fmt: skip
    desk.keep(report.claims)
    return report


@dataclass(frozen=True, slots=True)
class _Further:
    """Replays on other cases than the failing one."""

    calls: int
    paid: int


async def _finals(
    desk: Desk, measured: Sequence[Measured], also: Sequence[Case], guards: Sequence[GuardCase], alpha: float
) -> tuple[tuple[Measured, ...], _Further]:
    """Measures the best candidates on other failing runs and on guard cases, and ranks all anew."""
    supported = [m for m in measured if m.is_supported]
    judged: list[Measured] = []
    async with _experiments(desk, [*also, *(g.case for g in guards)]) as experiments:
        failing, kept = experiments[: len(also)], list(zip(guards, experiments[len(also) :], strict=True))
        # A harmful one makes way for the next, so that what is called the best was looked at too.
        while len(judged) < len(supported) and not any(m.is_supported for m in judged):
            finalists = supported[len(judged) :][:FINALISTS]
            judged += await _judge(finalists, failing, kept, alpha)
    rest = supported[len(judged) :] + [m for m in measured if not m.is_supported]
    spent = _Further(sum(e.drawn for e in experiments), sum(e.paid for e in experiments))
    return ranked([*judged, *rest]), spent


async def _judge(
    finalists: Sequence[Measured],
    failing: Sequence[Experiment],
    kept: Sequence[tuple[GuardCase, Experiment]],
    alpha: float,
) -> list[Measured]:
    """Measures candidates beyond the failing case, where there is something to measure them on."""
    judged = list(finalists)
    if failing:
        horizons = await look_further(failing, [m.candidate for m in judged])
        judged = [replace(m, horizon=h) for m, h in zip(judged, horizons, strict=True)]
    if kept:
        guardings = await guard(kept, [m.candidate.intervention for m in judged], alpha=alpha)
        judged = [m.with_guarding(g) for m, g in zip(judged, guardings, strict=True)]
    return judged


@asynccontextmanager
async def _experiments(desk: Desk, cases: Sequence[Case]) -> AsyncIterator[list[Experiment]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(desk.experiment(case, "fix")) for case in cases]


def _source(why: WhyReport) -> Source | None:
    """The headline's pieces, when they are something that the agent read."""
    head = why.attribution.headline
    if head is None:
        return None
    pieces = [s for g in head.removal for s in why.segmentation.group(g)]
    if any(s.role.is_given for s in pieces):
        return None
    texts = {s.text for s in pieces}
    return Source(removal=Drop.of(why.segmentation, head.removal), text=texts.pop() if len(texts) == 1 else "")
