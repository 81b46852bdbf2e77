"""Which decisions: rows of the view `decisions`, chosen by a condition or by any query that gives their ids."""

from dataclasses import dataclass
from datetime import datetime

from ..ingest.errors import NotFoundError, UsageError
from ..ingest.spans import SpanId, TraceId
from ..ingest.store import Store
from ..ingest.store.querying import Result, run_query

KEYS = ("trace_id", "span_id")
LIMIT = 20
"""Decisions that one command takes when nothing else is said: explaining costs calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One chosen decision."""

    trace_id: TraceId
    span_id: SpanId
    event: str | None = None
    """Which outcome to ask about: the query's column `event`; None for what the call did."""
    started: datetime | None = None
    """When the model was called, UTC; None when the query does not say."""


def decisions_where(store: Store, condition: str, *, limit: int, with_scores: bool = True) -> Result:
    """Returns rows of `decisions`, the latest first; without scores they come much faster from a large store.

    A condition on scores brings them all the same. Raises UsageError for a condition that is no SQL.
    """
    view = decisions_view(condition, with_scores=with_scores)
    where = f"WHERE {condition}" if condition else ""
    return run_query(store, f"SELECT * FROM {view} {where} ORDER BY started DESC, span_id LIMIT {limit}")


def decisions_view(condition: str, *, with_scores: bool) -> str:
    """Returns the view that has what a condition on `decisions` needs, the cheaper one if it will do."""
    return "decisions" if with_scores or "scores" in condition else "unscored_decisions"


def select_decisions(store: Store, query: str) -> list[Decision]:
    """Returns the decisions that a query names, in its order, each once.

    The query gives `trace_id` and `span_id`, and may give `event` and `started`. A condition alone, without SELECT,
    stands for the latest decisions that meet it. Raises UsageError when the ids are missing, NotFoundError when
    nothing is chosen.
    """
    result = (
        run_query(store, query) if is_query(query) else decisions_where(store, query, limit=LIMIT, with_scores=False)
    )
    chosen = read_decisions(result)
    if not chosen:
        raise NotFoundError("no decision is selected", hint="`whyspan decisions` lists what there is")
    return chosen


def is_query(text: str) -> bool:
    """Tells a query from a condition."""
    return text.lstrip("( \n\t").lower().startswith(("select", "with", "from"))


def read_decisions(result: Result) -> list[Decision]:
    """Returns the decisions that rows name, each once. Raises UsageError when the ids are missing."""
    missing = [key for key in KEYS if key not in result.columns]
    if missing:
        raise UsageError(
            f"the selection has no column {' and no '.join(missing)}",
            hint='such as "SELECT trace_id, span_id FROM decisions WHERE …"; `event` may be a third column',
        )
    chosen = {(row["trace_id"], row["span_id"]): row for row in result.records()}
    return [
        Decision(
            trace_id=TraceId(trace_id),
            span_id=SpanId(span_id),
            event=row.get("event"),
            started=row.get("started"),
        )
        for (trace_id, span_id), row in chosen.items()
    ]
