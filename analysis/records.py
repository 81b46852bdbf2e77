"""Trials and claims as OpenTelemetry spans, with deterministic ids: writing one again changes nothing.

A trial lives in a trace of its own, one a case, linked to the decision it repeats. A claim lives in the agent's trace,
as the child of the decision, in the post-hoc evaluation form of OpenInference (kind EVALUATOR, `evaluations.0.*`, one
link to the target) with one `gen_ai.evaluation.result` event of the OpenTelemetry GenAI conventions.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from .. import __version__
from ..ingest import conventions as names
from ..ingest.spans import AnyValue, Link, Resource, Scope, Span, SpanId, SpanKind, TraceId
from .claims import Claim, Verdict, span_id_of
from .evaluation import Evaluation
from .experiment import Trial

RESOURCE = Resource(attributes={"service.name": "whyspan", "service.version": __version__})
SCOPE = Scope(name=names.SCOPE_NAME, version=__version__)
CONTENT_KEYS = frozenset({names.CLAIM_SUBJECT, names.CLAIM_GUARDS, names.TARGET, names.INTERVENTION_SUMMARY})
"""Attributes that may quote the trace: kept in the user's own store, sent elsewhere only when asked."""
EVALUATION_NAMES = {"cause": "whyspan.cause_effect", "fix": "whyspan.fix_effect", "none": "whyspan.cause_effect"}
_USAGE_NAMES = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_input_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cost_usd": "gen_ai.usage.cost",
}
_RATE_OF = "{target} of {draws}"


def trial_span(trial: Trial, *, case_id: str | None = None) -> Span:
    """Returns the span of one replay; `case_id` is that of its case where the caller has it, for it costs a digest."""
    case, stored = trial.case, trial.stored
    case_id = case_id or case.id
    usage = stored.completion.usage.to_json()
    attributes: dict[str, AnyValue] = {
        names.KIND: names.KIND_TRIAL,
        names.CASE_ID: case_id,
        names.TARGET: case.target.spec,
        names.DECISION_TRACE_ID: case.origin.trace_id,
        names.DECISION_SPAN_ID: case.origin.span_id,
        names.INTERVENTION_ID: trial.intervention_id,
        names.INTERVENTION_KIND: trial.intervention.kind,
        names.INTERVENTION_SUMMARY: trial.intervention.summary,
        names.TRIAL_SAMPLE: stored.sample,
        names.TRIAL_OUTCOME: trial.outcome.value,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": str(case.request.get("model", "")),
        "gen_ai.response.model": stored.completion.reply.model,
        "gen_ai.response.finish_reasons": [stored.completion.reply.finish_reason],
        **{_USAGE_NAMES[k]: v for k, v in usage.items() if k in _USAGE_NAMES},
    }
    return Span(
        trace_id=TraceId(hashlib.sha256(f"trials\0{case_id}".encode()).hexdigest()[:32]),
        span_id=SpanId(span_id_of("trial", case_id, trial.intervention_id, str(stored.sample))),
        name=f"trial {trial.outcome.value}",
        kind=SpanKind.CLIENT,
        start_ns=stored.start_ns,
        end_ns=stored.end_ns,
        attributes={k: v for k, v in attributes.items() if v not in ("", [""])},
        links=_link_to_decision(case.origin.trace_id, case.origin.span_id),
        resource=RESOURCE,
        scope=SCOPE,
    )


def trial_spans(trials: Sequence[Trial]) -> list[Span]:
    """Returns the spans of an experiment, whose trials are all of one case."""
    case_id = trials[0].case.id if trials else ""
    return [trial_span(t, case_id=case_id) for t in trials]


def claim_span(claim: Claim, *, time_ns: int) -> Span:
    """Returns the span of a claim; `time_ns` is when it was made.

    A case without an origin (from a file, say) gets a trace of its own.
    """
    origin = claim.case.origin
    evaluation = Evaluation(
        claim_id=claim.id, name=EVALUATION_NAMES[claim.kind], score=claim.effect, label=claim.verdict.value,
        explanation=explain(claim),
    )  # fmt: skip
    guards = json.dumps(claim.guards, ensure_ascii=False) if claim.guards else ""
    figures = (evaluation.explanation, *filter(None, (guards, claim.parent, claim.chain_end)))
    attributes: dict[str, AnyValue] = {
        **evaluation.attributes,
        names.KIND: names.KIND_CLAIM,
        names.CLAIM_ID: claim.id,
        names.CLAIM_KIND: claim.kind,
        names.CLAIM_DETAIL: claim.detail,
        names.CLAIM_VERDICT: claim.verdict.value,
        names.CLAIM_SCOPE: claim.scope,
        names.CLAIM_SUBJECT: claim.subject,
        names.CASE_ID: claim.case.id,
        names.TARGET: claim.case.target.spec,
        names.DECISION_TRACE_ID: origin.trace_id,
        names.DECISION_SPAN_ID: origin.span_id,
        names.INTERVENTION_ID: claim.intervention_id,
        names.CLAIM_EFFECT: claim.effect,
        names.CLAIM_BASE_RATE: claim.base.rate,
        names.CLAIM_BASE_N: claim.base.draws,
        names.CLAIM_RATE: claim.changed.rate,
        names.CLAIM_N: claim.changed.draws,
        names.CLAIM_INTERVAL_LOW: claim.interval[0],
        names.CLAIM_INTERVAL_HIGH: claim.interval[1],
        names.CLAIM_E_VALUE: claim.e_value,
        names.CLAIM_ALPHA: claim.alpha,
        names.CLAIM_CALLS: claim.calls,
        names.CLAIM_BY_LOGPROBS: claim.by_logprobs or "",
        names.CLAIM_GUARDS: guards,
        names.CLAIM_PARENT: claim.parent,
        names.CLAIM_CHAIN_END: claim.chain_end,
        "gen_ai.request.model": claim.model,
    }
    has_origin = bool(origin.trace_id and origin.span_id)
    return Span(
        trace_id=TraceId(origin.trace_id or hashlib.sha256(f"claims\0{claim.case.id}".encode()).hexdigest()[:32]),
        # A finished span is never changed, here or elsewhere: other figures for the same claim are another span.
        span_id=SpanId(span_id_of("claim", claim.id, *figures)),
        parent_span_id=SpanId(origin.span_id) if has_origin else None,
        name=f"evaluate {evaluation.name}",
        start_ns=time_ns,
        end_ns=time_ns,
        attributes={k: v for k, v in attributes.items() if v != ""},
        events=(evaluation.event(time_ns),),
        links=_link_to_decision(origin.trace_id, origin.span_id),
        resource=RESOURCE,
        scope=SCOPE,
    )


def without_content(span: Span) -> Span:
    """Returns a claim's span without what may quote the trace."""
    return replace(span, attributes={k: v for k, v in span.attributes.items() if k not in CONTENT_KEYS})


def explain(claim: Claim) -> str:
    """Returns a claim in one sentence that quotes nothing of the trace."""
    base, changed = (_RATE_OF.format(target=t.target, draws=t.draws) for t in (claim.base, claim.changed))
    what = {"cause": "with the piece removed", "fix": "with the fix"}.get(claim.kind, "with everything tested removed")
    unit, asked = ("samples", "calls, by log-probabilities") if claim.by_logprobs else ("replays", "replays")
    measured = f"{base} {unit} as recorded, {changed} {what}"
    low, high = claim.interval
    if claim.verdict is Verdict.SUPPORTED:
        measured += f"; effect {claim.effect:+.2f} [{low:+.2f}, {high:+.2f}], e-value {claim.e_value:.3g}"
    return f"{claim.verdict.value}: {claim.case.target.label}: {measured} ({claim.calls} {asked}, {claim.model})"


def _link_to_decision(trace_id: str, span_id: str) -> tuple[Link, ...]:
    return (Link(trace_id=TraceId(trace_id), span_id=SpanId(span_id)),) if trace_id and span_id else ()
