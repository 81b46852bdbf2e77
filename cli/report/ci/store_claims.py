"""Reads claims out of a store in the form that `Claim.to_json` gives them."""

from typing import TYPE_CHECKING, Any

from ....ingest.errors import NotFoundError
from ....ingest.store.querying import run_query
from .results import Document

if TYPE_CHECKING:
    from ....ingest.spans import TraceId
    from ....ingest.store import Store

QUERY = """
SELECT c.claim_id, c.case_id, c.kind, c.detail, c.verdict, c.scope, c.subject, c.target, c.effect, c.interval_low,
  c.interval_high, c.base_rate, c.base_n, c.rate, c.n, c.e_value, c.alpha, c.calls, s.request_model AS model
FROM claims AS c JOIN spans AS s USING (trace_id, span_id)
WHERE $run IS NULL OR c.decision_trace_id = $run
ORDER BY c.decision_trace_id, c.kind, c.verdict = 'supported' DESC, c.effect, c.claim_id
"""


def read_claims(store: "Store", run: "TraceId | None") -> tuple[Document, ...]:
    """Returns the claims about a run, or all of them; NotFoundError when there are none."""
    rows = run_query(store, QUERY, {"run": run}).records()
    if not rows:
        raise NotFoundError("nothing has been claimed yet", hint="`whyspan why` and `whyspan fix` make claims")
    return tuple(_document(row) for row in rows)


def _document(row: dict[str, Any]) -> Document:
    same = ("case_id", "kind", "detail", "verdict", "scope", "target", "effect", "e_value", "alpha", "calls")
    return {
        "id": row["claim_id"],
        **{name: row[name] for name in same},
        "subject": row["subject"] or "",
        "interval": [row["interval_low"], row["interval_high"]],
        "base": _tally(row["base_rate"], row["base_n"]),
        "changed": _tally(row["rate"], row["n"]),
        "model": row["model"] or "",
    }


def _tally(rate: float, draws: int) -> Document:
    return {"target": round(rate * draws), "draws": draws, "rate": rate}
