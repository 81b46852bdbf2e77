"""Runs of jobs and their items as spans: a trace a run, one span for it and one for each decision it dealt with."""

import hashlib

from ...ingest import conventions as names
from ...ingest.calls import Json
from ...ingest.spans import AnyValue, Link, Span, SpanId, StatusCode, TraceId
from ..claims import span_id_of
from ..records import RESOURCE, SCOPE
from .ledger import Item, ItemStatus, Run, RunStatus

FIGURES = {"rate": names.JOB_RATE, "n": names.JOB_N, "effect": names.CLAIM_EFFECT, "fix": names.JOB_FIX}


def run_span(run: Run, counts: dict[ItemStatus, int]) -> Span:
    """Returns the span of a run that has ended; one that goes on later ends in another span."""
    failed = run.status is RunStatus.FAILED
    attributes: dict[str, AnyValue] = {
        names.KIND: names.KIND_JOB_RUN,
        names.JOB_NAME: run.job,
        names.JOB_RUN_ID: run.run_id,
        names.JOB_STATUS: run.status.value,
        names.JOB_SELECTED: sum(counts.values()),
        names.JOB_EXPLAINED: counts.get(ItemStatus.DONE, 0),
        names.JOB_LINKED: counts.get(ItemStatus.LINKED, 0),
        names.JOB_SKIPPED: counts.get(ItemStatus.SKIPPED, 0),
        names.JOB_FAILED: counts.get(ItemStatus.FAILED, 0),
        names.JOB_CALLS: run.calls,
        names.JOB_TOKENS: run.tokens,
        names.JOB_COST_USD: run.cost_usd,
        names.JOB_NOTE: run.note,
    }
    return Span(
        trace_id=_trace_id(run.run_id),
        span_id=SpanId(span_id_of("job_run", run.run_id, str(run.ended_ns))),
        name=f"job {run.job}",
        start_ns=run.started_ns,
        end_ns=run.ended_ns or run.started_ns,
        attributes={k: v for k, v in attributes.items() if v != ""},
        status_code=StatusCode.ERROR if failed else StatusCode.OK,
        status_message=run.note if failed else "",
        resource=RESOURCE,
        scope=SCOPE,
    )


def item_span(run: Run, item: Item, *, start_ns: int, end_ns: int) -> Span:
    """Returns the span of a decision that was dealt with."""
    decision, outcome = item.decision, item.outcome
    linked: dict[str, Json] = outcome.get("linked") or {}
    attributes: dict[str, AnyValue] = {
        names.KIND: names.KIND_JOB_ITEM,
        names.JOB_NAME: run.job,
        names.JOB_RUN_ID: run.run_id,
        names.JOB_STATUS: item.status.value,
        names.DECISION_TRACE_ID: decision.trace_id,
        names.DECISION_SPAN_ID: decision.span_id,
        names.CASE_ID: outcome.get("case_id", ""),
        names.JOB_NOTE: outcome.get("note", ""),
        names.LINKED_TRACE_ID: linked.get("trace_id", ""),
        names.LINKED_SPAN_ID: linked.get("span_id", ""),
        **{attribute: outcome[key] for key, attribute in FIGURES.items() if outcome.get(key) is not None},
    }
    return Span(
        trace_id=_trace_id(run.run_id),
        span_id=SpanId(span_id_of("job_item", run.run_id, decision.trace_id, decision.span_id)),
        name=f"job item {item.status.value}",
        start_ns=start_ns,
        end_ns=end_ns,
        attributes={k: v for k, v in attributes.items() if v != ""},
        links=(Link(trace_id=decision.trace_id, span_id=decision.span_id),),
        resource=RESOURCE,
        scope=SCOPE,
    )


def _trace_id(run_id: str) -> TraceId:
    return TraceId(hashlib.sha256(f"job\0{run_id}".encode()).hexdigest()[:32])
