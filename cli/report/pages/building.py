"""From the store to pages: reads what a page needs and renders it."""

import shlex
from datetime import UTC, datetime
from typing import Any

from .... import __version__
from ....analysis.jobs.ledger import Item, ItemStatus, Ledger, Run
from ....analysis.questions import freeze_decision
from ....analysis.recall import recall_why
from ....analysis.selection import Decision
from ....analysis.waterfall import build_waterfall
from ....ingest.calls import ModelCall
from ....ingest.errors import WhyspanError
from ....ingest.rebuild import rebuild_calls
from ....ingest.spans import SpanId, TraceId
from ....ingest.store import Store
from ....ingest.store.querying import run_query
from ..html import render_page
from ..run_text import duration_words
from .chains import show_chains
from .claims import read_claims, show_claim
from .decisions import show_decision
from .waterfall import draw_waterfall


def build_run_page(store: Store, trace_id: TraceId) -> str:
    """Returns the page of a run: its waterfall, and each decision that something is claimed about."""
    spans, logs = store.spans(trace_id), store.logs(trace_id)
    calls = rebuild_calls(spans, logs)
    waterfall = build_waterfall(spans, calls)
    rows = read_claims(store, "c.decision_trace_id = ?", trace_id)
    claimed = {row["decision_span_id"] for row in rows}
    numbers = {str(call.span_id): n for n, call in enumerate(calls, 1) if call.span_id in claimed}
    services = sorted({c.service for c in calls if c.service})
    return render_page(
        "run.html.j2",
        {
            **_frame(store, f"Run {trace_id[:12]}", f"show {trace_id}"),
            "services": services,
            "run_id": trace_id,
            "totals": waterfall,
            "duration": duration_words(waterfall.duration_ns),
            "waterfall": draw_waterfall(waterfall),
            "chains": show_chains(store, rows, numbers),
            "decisions": [
                _decision(store, call, n, rows) for n, call in enumerate(calls, 1) if call.span_id in numbers
            ],
        },
    )


def build_claim_page(store: Store, claim_id: str) -> str:
    """Returns the page of a claim: the decision it is about, with everything claimed about that."""
    row = read_claims(store, "starts_with(c.claim_id, ?)", claim_id)[0]
    trace_id, span_id = TraceId(row["decision_trace_id"] or ""), row["decision_span_id"]
    calls = rebuild_calls(store.spans(trace_id), store.logs(trace_id)) if trace_id else []
    found = [(n, call) for n, call in enumerate(calls, 1) if call.span_id == span_id]
    rows = read_claims(store, "c.decision_trace_id = ? AND c.decision_span_id = ?", trace_id, span_id)
    return render_page(
        "claim.html.j2",
        {
            **_frame(store, f"Claim {row['claim_id'][:12]}", f"report {row['claim_id'][:12]} --html claim.html"),
            "claim": show_claim(row, str(store.path)),
            "chains": show_chains(store, [row], {str(call.span_id): n for n, call in found}),
            "decisions": [_decision(store, call, n, rows) for n, call in found],
            "run_id": trace_id,
        },
    )


def build_job_page(store: Store, ledger: Ledger, name: str) -> str:
    """Returns the page of a job: its runs, and of the latest what it found and what became of each decision."""
    runs = ledger.runs(name)
    items = ledger.items(runs[0].run_id)
    ids = [claim for item in items for claim in item.outcome.get("claims") or ()]
    rows = read_claims(store, "list_contains(?, c.claim_id) AND c.verdict = 'supported'", ids) if ids else []
    return render_page(
        "job.html.j2",
        {
            **_frame(store, f"Job {name}", f"jobs status {name}"),
            "runs": [_run(run, ledger.items(run.run_id)) for run in runs],
            "items": [_item(item) for item in items],
            "claims": [show_claim(row, str(store.path)) for row in rows],
            "chains": show_chains(store, rows, {}),
        },
    )


def is_claim(store: Store, reference: str) -> bool:
    """Tells whether a claim's id begins so."""
    query = "SELECT count(DISTINCT claim_id) FROM claims WHERE starts_with(claim_id, ?)"
    return len(reference) >= 6 and run_query(store, query, [reference]).rows[0][0] == 1


def _frame(store: Store, title: str, words: str) -> dict[str, Any]:
    return {
        "title": title,
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "version": __version__,
        "command": f"whyspan --store {shlex.quote(str(store.path))} {words}",
    }


def _decision(store: Store, call: ModelCall, number: int, claims: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [row for row in claims if row["decision_span_id"] == call.span_id]
    target = next((row["target"] for row in rows if row["kind"] != "fix"), rows[0]["target"] if rows else None)
    decision = Decision(trace_id=call.trace_id, span_id=SpanId(call.span_id), event=target)
    try:
        report = recall_why(store, freeze_decision([call], decision))
    except WhyspanError:
        report = None  # the request cannot be cut or replayed any more: the claims stand, only the heat map is missing
    return show_decision(call, number, rows, report, str(store.path))


def _run(run: Run, items: list[Item]) -> dict[str, Any]:
    ended = run.ended_ns or run.started_ns
    return {
        "run_id": run.run_id,
        "started": f"{datetime.fromtimestamp(run.started_ns / 1e9, UTC):%Y-%m-%d %H:%M}",
        "duration": duration_words(ended - run.started_ns),
        "status": run.status.value,
        "counts": {s.value: sum(i.status is s for i in items) for s in ItemStatus},
        "calls": run.calls,
        "tokens": run.tokens,
        "cost": f"${run.cost_usd:.2f}" if run.cost_usd else "",
        "note": run.note,
    }


def _item(item: Item) -> dict[str, Any]:
    outcome = item.outcome
    return {
        "trace_id": item.decision.trace_id,
        "span_id": item.decision.span_id,
        "status": item.status.value,
        "target": outcome.get("target") or "",
        "rate": f"{outcome['rate']:.2f} of {outcome['n']}" if outcome.get("rate") is not None else "",
        "effect": f"{outcome['effect']:+.2f}" if outcome.get("effect") is not None else "",
        "fix": outcome.get("fix") or "",
        "note": outcome.get("note") or "",
        "linked": (outcome.get("linked") or {}).get("trace_id", ""),
    }
