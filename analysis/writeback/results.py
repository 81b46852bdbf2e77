"""A claim as other back ends are told about it: names, numbers and words that stay the same from release to release.

Two verdicts go out for each claim: `whyspan.cause_effect` (or `whyspan.fix_effect`), a number in [-1, 1], and
`whyspan.verdict`, a word. Their ids depend on claim and decision alone: a repeat with more replays updates them.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...ingest import conventions as names
from ...ingest.spans import AnyValue, Span, SpanId, TraceId
from ...ingest.store import Store
from ...ingest.store.querying import run_query
from ..links import fill_link
from ..records import without_content

VERDICT_NAME = "whyspan.verdict"
_TRACE_WIDE = (
    "session.id", "user.id", "langfuse.trace.name", "langfuse.trace.tags", "langfuse.environment", "langfuse.release",
)  # fmt: skip
"""What Langfuse wants on every span of a trace, so that the span is found by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One claim, ready to be told."""

    claim_id: str
    trace_id: TraceId
    """Trace of the decision."""
    span_id: SpanId
    """Span of the decision."""
    effect_name: str
    """`whyspan.cause_effect` or `whyspan.fix_effect`."""
    effect: float
    """Rate with the intervention minus the base rate, in [-1, 1]."""
    verdict: str
    """`supported`, `refuted`, `inconclusive` or `harmful`."""
    comment: str
    """How it was measured: n, interval, e-value; quotes the trace only when asked."""
    details: Mapping[str, AnyValue] = field(default_factory=dict)
    """The numbers of the claim, under the names of `conventions`."""
    decision: Mapping[str, AnyValue] = field(default_factory=dict)
    """Attributes of the decision's span."""
    span: Span
    """The claim's span, without what may quote the trace unless that was asked for."""

    def id_of(self, name: str) -> str:
        """Returns the id of one of its verdicts, 32 hex digits.

        Two runs may make the same request, so that the claims about them have one id: the verdicts have two.
        """
        about = "\0".join((self.claim_id, self.trace_id, self.span_id, name))
        return hashlib.sha256(about.encode()).hexdigest()[:32]


def result_of(claim: Span, decision: Span | None, *, include_content: bool, link: str = "") -> Result:
    """Returns the result that a claim's span holds; `decision` is None when its span is not in the store."""
    attributes = claim.attributes
    of_decision = decision.attributes if decision else {}
    shared = {key: of_decision[key] for key in _TRACE_WIDE if key in of_decision}
    told = claim if include_content else without_content(claim)
    return Result(
        claim_id=str(attributes[names.CLAIM_ID]),
        trace_id=TraceId(str(attributes.get(names.DECISION_TRACE_ID, claim.trace_id))),
        span_id=SpanId(str(attributes.get(names.DECISION_SPAN_ID, claim.span_id))),
        effect_name=str(attributes["evaluations.0.evaluation.name"]),
        effect=float(attributes[names.CLAIM_EFFECT]),  # type: ignore[arg-type]  # whyspan itself has written it
        verdict=str(attributes[names.CLAIM_VERDICT]),
        comment=_comment(attributes, include_content=include_content, link=link),
        details={k: v for k, v in told.attributes.items() if k.startswith("whyspan.")},
        decision=of_decision,
        span=replace(told, attributes={**shared, **told.attributes}),
    )


def _comment(attributes: Mapping[str, Any], *, include_content: bool, link: str) -> str:
    parts = [str(attributes["evaluations.0.evaluation.explanation"])]
    if "e-value" not in parts[0]:  # the explanation of a supported claim has the figures
        parts.append(_figures(attributes))
    if include_content and attributes.get(names.CLAIM_SUBJECT):
        parts.append(f"subject: {attributes[names.CLAIM_SUBJECT]}")
    return "\n".join([*parts, link] if link else parts)


def _figures(attributes: Mapping[str, Any]) -> str:
    low, high = attributes[names.CLAIM_INTERVAL_LOW], attributes[names.CLAIM_INTERVAL_HIGH]
    effect, e_value = attributes[names.CLAIM_EFFECT], attributes[names.CLAIM_E_VALUE]
    return f"effect {effect:+.2f} [{low:+.2f}, {high:+.2f}], e-value {e_value:.3g}"


def claims_of_run(store: Store, trace_id: TraceId) -> list[Span]:
    """Returns the spans of the claims about a run, of each claim the latest."""
    latest: dict[AnyValue, Span] = {}
    for span in sorted(store.spans(trace_id), key=lambda s: s.start_ns):
        if span.scope.name == names.SCOPE_NAME and span.attributes.get(names.KIND) == names.KIND_CLAIM:
            latest[span.attributes[names.CLAIM_ID]] = span
    return list(latest.values())


def decisions_of(store: Store, claims: Iterable[Span]) -> dict[SpanId, Span]:
    """Returns span id → span of the decisions that claims are about."""
    wanted = {(c.attributes.get(names.DECISION_TRACE_ID), c.attributes.get(names.DECISION_SPAN_ID)) for c in claims}
    traces = sorted({str(trace) for trace, _ in wanted if trace})
    spans = (span for trace in traces for span in store.spans(TraceId(trace)))
    return {span.span_id: span for span in spans if (span.trace_id, span.span_id) in wanted}


def results_of(
    store: Store, claims: Sequence[Span], *, include_content: bool, links: Mapping[str, str]
) -> list[Result]:
    """Returns the results of claims; `links` are the templates of `[links]`, of which `whyspan` leads to us."""

    decisions = decisions_of(store, claims)
    results = []
    for claim in claims:
        decision = decisions.get(SpanId(str(claim.attributes.get(names.DECISION_SPAN_ID))))
        link = fill_link(links["whyspan"], decision) if "whyspan" in links and decision else ""
        results.append(result_of(claim, decision, include_content=include_content, link=link))
    return results


def trials_of(store: Store, claims: Iterable[Span]) -> list[Span]:
    """Returns the spans of the replays behind claims: all that were made of their decisions."""
    cases = sorted({str(claim.attributes[names.CASE_ID]) for claim in claims})
    query = "SELECT DISTINCT trace_id FROM trials WHERE list_contains(?, case_id)"
    traces = sorted(TraceId(trace_id) for (trace_id,) in run_query(store, query, [cases]).rows)
    spans = (span for trace in traces for span in store.spans(trace))
    return [span for span in spans if span.attributes.get(names.KIND) == names.KIND_TRIAL]
