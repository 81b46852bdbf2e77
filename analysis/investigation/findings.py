"""A claim about several decisions: its figures, its JSON form, and its span, which is linked to each of them.

It says that a source is a cause in some of its cases, and lives in a trace of its own. Scope `population`: the unit is
a case, not a replay.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from ...ingest import conventions as names
from ...ingest.calls import Json
from ...ingest.spans import AnyValue, Link, Span, SpanId, TraceId
from ..attribution.problem import Tally
from ..canonical import digest
from ..cases import Case
from ..claims import Verdict, span_id_of
from ..evaluation import Evaluation
from ..records import EVALUATION_NAMES, RESOURCE, SCOPE
from ..statistics.logarithms import from_log
from .pooling import CaseEvidence, Family, Pooled, Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A source, the cases, and what the replays of each said."""

    source: Pooled
    cases: tuple[Case, ...]
    """Every case of the investigation; shares name them by index."""
    evidence: tuple[CaseEvidence, ...]

    @property
    def id(self) -> str:
        """SHA-256 over the source and the cases that hold it, 64 hex digits."""
        held = [self.cases[share.case].id for share in self.source.shares]
        return digest(["investigation", self.source.family.value, self.source.name, *sorted(held)])

    @property
    def verdict(self) -> Verdict:
        """Supported or inconclusive: that a source is a cause nowhere is not shown by pooling."""
        return Verdict.SUPPORTED if self.source.is_supported else Verdict.INCONCLUSIVE

    @property
    def label(self) -> str:
        """The source in words."""
        return self.source.name if self.source.family is Family.TEXT else f"in {self.source.name}"

    @property
    def tested(self) -> tuple[Share, ...]:
        """The cases in which the source was put to the test."""
        return tuple(share for share in self.source.shares if strongest(share).draws)

    @property
    def claimed(self) -> int:
        """How many cases show by themselves that it is a cause in them."""
        return sum(share.is_claimed for share in self.source.shares)

    @property
    def base(self) -> Tally:
        """Outcomes of the requests as they were sent, of all cases in which it was tested."""
        return sum((self.evidence[share.case].baseline for share in self.tested), Tally())

    @property
    def changed(self) -> Tally:
        """Outcomes without the source, of the same cases."""
        return sum(map(strongest, self.tested), Tally())

    @property
    def effect(self) -> float:
        """Rate without the source minus the rate with it; an estimate, for cases differ."""
        return self.changed.rate - self.base.rate

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` and the stored claim use."""
        return {
            "id": self.id,
            "family": self.source.family.value,
            "source": self.source.name,
            "verdict": self.verdict.value,
            "scope": "population",
            "e_value": from_log(self.source.log_e),
            "alpha": self.source.level,
            "effect": self.effect,
            "base": _counts(self.base),
            "changed": _counts(self.changed),
            "claimed_in": self.claimed,
            "tested_in": len(self.tested),
            "cases": [self._share(share) for share in self.source.shares],
        }

    def _share(self, share: Share) -> dict[str, Json]:
        case = self.cases[share.case]
        return {
            "case_id": case.id,
            "trace_id": case.origin.trace_id,
            "span_id": case.origin.span_id,
            "e_value": from_log(share.log_e),
            "is_claimed": share.is_claimed,
            "base": _counts(self.evidence[share.case].baseline),
            "changed": _counts(strongest(share)),
        }


def _counts(tally: Tally) -> dict[str, Json]:
    return {"target": tally.target, "draws": tally.draws, "rate": tally.rate}


def strongest(share: Share) -> Tally:
    """Returns the draws without the source in a case: of several removals in one place, those of the clearest one."""
    clearest = max(share.attempts, key=lambda attempt: attempt.log_e, default=None)
    return clearest.tally if clearest else Tally()


def finding_span(finding: Finding, *, time_ns: int) -> Span:
    """Returns the span of a claim about several decisions; `time_ns` is when it was made."""
    cases = [finding.cases[share.case] for share in finding.source.shares]
    evaluation = Evaluation(
        claim_id=finding.id, name=EVALUATION_NAMES["cause"], score=finding.effect, label=finding.verdict.value,
        explanation=explain(finding),
    )  # fmt: skip
    model = _only(cases, lambda case: str(case.request.get("model", "")))
    attributes: dict[str, AnyValue] = {
        **evaluation.attributes,
        names.KIND: names.KIND_CLAIM,
        names.CLAIM_ID: finding.id,
        names.CLAIM_KIND: "cause",
        names.CLAIM_DETAIL: finding.source.family.value,
        names.CLAIM_VERDICT: finding.verdict.value,
        names.CLAIM_SCOPE: "population",
        names.CLAIM_SUBJECT: finding.source.name,
        names.CLAIM_CASES: json.dumps(finding.to_json()["cases"]),
        names.CLAIM_EFFECT: finding.effect,
        names.CLAIM_BASE_RATE: finding.base.rate,
        names.CLAIM_BASE_N: finding.base.draws,
        names.CLAIM_RATE: finding.changed.rate,
        names.CLAIM_N: finding.changed.draws,
        names.CLAIM_CALLS: finding.base.draws + finding.changed.draws,
        names.CLAIM_E_VALUE: from_log(finding.source.log_e),
        names.CLAIM_ALPHA: finding.source.level,
        names.TARGET: _only(cases, lambda case: case.target.spec),
        **({"gen_ai.request.model": model} if model else {}),
    }
    origins = (case.origin for case in cases)
    return Span(
        trace_id=TraceId(digest(["claim", finding.id])[:32]),
        span_id=SpanId(span_id_of("claim", finding.id, evaluation.explanation)),
        name=f"evaluate {evaluation.name}",
        start_ns=time_ns,
        end_ns=time_ns,
        attributes={k: v for k, v in attributes.items() if v != ""},
        events=(evaluation.event(time_ns),),
        links=tuple(Link(trace_id=TraceId(o.trace_id), span_id=SpanId(o.span_id)) for o in origins if o.span_id),
        resource=RESOURCE,
        scope=SCOPE,
    )


def explain(finding: Finding) -> str:
    """Returns the claim in one sentence that quotes nothing of the traces."""
    what = "one text" if finding.source.family is Family.TEXT else finding.label
    return (
        f"{finding.verdict.value}: a cause {what} in some of {len(finding.source.shares)} decisions, shown in "
        f"{finding.claimed} of them alone; e-value {from_log(finding.source.log_e):.3g} of all together"
    )


def _only(cases: list[Case], value: Callable[[Case], str]) -> str:
    """Returns what all cases have in common, empty when they differ."""
    found = {value(case) for case in cases}
    return found.pop() if len(found) == 1 else ""
