"""`investigate`: `why` on several decisions, and what they have in common."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ...ingest.calls import Json
from ..attribution.problem import Options
from ..attribution.result import Nominated
from ..attribution.why import WhyReport, find_cause
from ..canonical import digest
from ..cases import Case
from ..claims import Claim
from ..desk import Desk
from ..segments import Segmentation
from .findings import Finding, finding_span
from .pooling import Attempt, CaseEvidence, Pooled, pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Investigation:
    """What was found about several decisions, one by one and together."""

    reports: tuple[WhyReport, ...]
    evidence: tuple[CaseEvidence, ...]
    pooled: tuple[Pooled, ...]
    """Every text and place that two of them or more hold, the strongest evidence first."""
    left_out: int
    """Decisions whose request is that of another one: their replays would be the same, and count twice."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims about single cases."""
        return tuple(claim for report in self.reports for claim in report.claims)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The sources that were put to the test in any decision, the strongest evidence first."""
        cases = tuple(report.case for report in self.reports)
        found = (Finding(source=p, cases=cases, evidence=self.evidence) for p in self.pooled)
        return tuple(finding for finding in found if finding.tested)

    def to_json(self) -> dict[str, Json]:
        """Returns the document that `whyspan investigate --json` prints."""
        return {
            "cases": len(self.reports),
            "left_out": self.left_out,
            "hypotheses": [claim.to_json() for claim in self.claims],
            "pooled": [finding.to_json() for finding in self.findings],
        }


async def investigate(desk: Desk, cases: Sequence[Case], options: Options) -> Investigation:
    """Finds the causes of each case, pools what the replays say, and keeps what is claimed.

    What `why` has paid for already comes from the reply store. The cap is the desk's budget, for all cases together.
    """
    distinct: dict[str, Case] = {}
    for case in cases:
        distinct.setdefault(digest(case.request), case)
    reports = tuple([await find_cause(desk, case, options) for case in distinct.values()])
    evidence = tuple(evidence_of(report) for report in reports)
    found = Investigation(
        reports=reports,
        evidence=evidence,
        pooled=pool(evidence, alpha=options.alpha),
        left_out=len(cases) - len(distinct),
    )
    now = time.time_ns()
    desk.write([finding_span(f, time_ns=now) for f in found.findings if f.source.is_supported])
    return found


def evidence_of(report: WhyReport) -> CaseEvidence:
    """Returns what one attribution says about the texts and places of its request."""
    cut, result = report.segmentation, report.attribution
    claimed = {claim.removal for claim in result.claims}
    return CaseEvidence(
        texts=frozenset(cut.said(n) for n in range(len(cut.groups))),
        places=frozenset(segment.place for segment in cut.segments),
        baseline=result.baseline,
        attempts=tuple(_attempt(cut, n, is_claimed=n.removal in claimed) for n in result.nominated),
    )


def _attempt(cut: Segmentation, nominated: Nominated, *, is_claimed: bool) -> Attempt:
    places = {cut.group(n)[-1].place for n in nominated.removal}
    return Attempt(
        text=cut.said(min(nominated.removal)) if len(nominated.removal) == 1 else "",
        place=places.pop() if len(places) == 1 else "",
        tally=nominated.tally,
        log_e=nominated.log_e,
        is_claimed=is_claimed,
    )
