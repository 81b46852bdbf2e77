"""`why`: connects the attribution core to the replay engine and turns what it finds into claims."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...ingest.calls import Json
from ..cases import Case
from ..claims import Claim, Verdict
from ..desk import Desk
from ..experiment import Experiment
from ..interventions import Drop, intervention_id
from ..segments import Segment, Segmentation, segment
from ..statistics.intervals import drop_interval
from .attribute import attribute
from .driving import drive
from .ledger import UNCAPPED
from .methods.judge import suspects
from .problem import Options, Tally
from .result import Attribution, Stop
from .result import Claim as Cause

if TYPE_CHECKING:
    from .chain import Chain


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyReport:
    """What `why` found out about one decision."""

    case: Case
    segmentation: Segmentation
    attribution: Attribution
    claims: tuple[Claim, ...]
    """In the order they were made; a single claim of kind `none` when nothing tested is a cause."""
    headline: Claim | None
    """The claim to show first; None when there is no cause with a large effect."""
    paid: int
    """Replays that were paid for in this run; the others came from the reply store."""
    calls: int
    """Calls of the model behind the replays, those known from before included."""
    by_logprobs: bool = False
    """The replays are samples drawn from probabilities that the model told, one call for all of a request."""
    guess: tuple[int, ...] | None = None
    """Groups that the model suspected when it was asked; None when it was not asked. They were only looked at first."""
    chain: "Chain | None" = None
    """What caused the cause, and so on; None when it was not followed."""

    def segments(self, cause: Cause) -> tuple[Segment, ...]:
        """Returns the segments that a cause removes, each text once, where it was read last."""
        return tuple(self.segmentation.group(g)[-1] for g in sorted(cause.removal))

    def to_json(self) -> dict[str, Json]:
        """Returns the document that `whyspan why --json` prints."""
        result = self.attribution
        return {
            "case_id": self.case.id,
            "trace_id": self.case.origin.trace_id,
            "span_id": self.case.origin.span_id,
            "target": self.case.target.spec,
            "stop": result.stop.value,
            "headline": self.headline.id if self.headline else None,
            "claims": [c.to_json() for c in self.claims],
            "pieces": len(self.segmentation.groups),
            "replays": result.draws,
            "paid": self.paid,
            "by_logprobs": self.by_logprobs,
            "guess": None if self.guess is None else [self.segmentation.said(g) for g in self.guess],
            "rounds": result.rounds,
            "notes": list(result.notes),
            "open": list(result.open),
            "chain": self.chain.to_json() if self.chain else None,
        }


async def find_cause(desk: Desk, case: Case, options: Options, *, ask: bool = False) -> WhyReport:
    """Finds what caused a case's decision and keeps the claims; the cap is the desk's budget.

    With `ask` the model is asked once which piece it was, as a hint where to look first. Where nothing was paid for,
    claims that the store has already stay as they are: they may stand on more of the same replays.
    """
    async with desk.experiment(case, "why") as experiment:
        report = await explain(experiment, options, ask=ask)
    if report.paid or not desk.has_kept(report.claims):
        desk.keep(report.claims)
    return report


async def explain(experiment: Experiment, options: Options, *, ask: bool = False) -> WhyReport:
    """Finds what caused a case's decision, by drawing on the experiment until the core has enough.

    Only what is paid for counts against the engine's budget, so the core's own cap is lifted: replays known from
    before are free, which is how a stopped experiment continues.
    """
    case = experiment.case
    cut = segment(case.api, case.request)
    guess = await suspects(experiment, cut) if ask else None
    options = replace(
        options, budget=UNCAPPED, guess=options.guess.union(guess or ()), samples_per_call=experiment.samples_per_call
    )
    core = attribute(cut.leaves(), _decision_words(case), options)
    result = await drive(core, experiment, cut)
    claims = tuple(_claim(case, cut, c, result) for c in result.claims)
    if not claims and result.stop in {Stop.NO_CAUSE, Stop.RARE}:
        claims = (_no_cause(case, cut, result, options),)
    if by_logprobs := experiment.choices is not None:
        claims = tuple(replace(claim, by_logprobs=True, calls=experiment.calls) for claim in claims)
    head = next((c for c, found in zip(claims, result.claims, strict=False) if found is result.headline), None)
    return WhyReport(
        case=case, segmentation=cut, attribution=result, claims=claims, headline=head, paid=experiment.paid,
        calls=experiment.calls,
        by_logprobs=by_logprobs, guess=guess,
    )  # fmt: skip


def _decision_words(case: Case) -> str:
    """The words of the decision: only a hint where to look first."""
    return case.target.spec.partition(":")[2] or case.target.spec


def _claim(case: Case, cut: Segmentation, cause: Cause, result: Attribution) -> Claim:
    return Claim(
        case=case,
        kind="cause",
        detail=cause.kind.value,
        verdict=Verdict.SUPPORTED,
        subject=" … ".join(cut.said(g) for g in sorted(cause.removal)),
        intervention_id=intervention_id(Drop.of(cut, cause.removal)),
        base=cause.with_pieces,
        changed=cause.without_pieces,
        interval=(-cause.drop.high, -cause.drop.low),
        e_value=cause.e_value,
        alpha=cause.alpha_t,
        calls=result.draws,
        model=str(case.request.get("model", "")),
    )


def _no_cause(case: Case, cut: Segmentation, result: Attribution, options: Options) -> Claim:
    """The claim that nothing tested is a cause, which sampling can make plausible and never prove: inconclusive."""
    widest = max(result.tested, key=lambda t: len(t.removal), default=None)
    removal = widest.removal if widest else frozenset()
    changed = widest.tally if widest else Tally()
    drop = drop_interval(changed.pair, result.baseline.pair, alpha=options.alpha)
    return Claim(
        case=case,
        kind="none",
        detail=result.stop.value,
        verdict=Verdict.INCONCLUSIVE,
        subject="",
        intervention_id=intervention_id(Drop.of(cut, removal)),
        base=result.baseline,
        changed=changed,
        interval=(-drop.high, -drop.low),
        e_value=0.0,
        alpha=options.alpha,
        calls=result.draws,
        model=str(case.request.get("model", "")),
    )
