"""Which decisions a run of a job takes on: what it selects, less what earlier runs have dealt with."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...ingest.store import Store
from ...ingest.store.querying import run_query
from ..policy import load_policy
from ..selection import Decision, is_query, read_decisions
from ..triage import triage
from .definition import Job
from .ledger import Ledger

LATENESS = timedelta(hours=24)
"""How long after its start a decision may still arrive; earlier ones are not looked for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The decisions of a run."""

    decisions: tuple[Decision, ...]
    """In the order of the selection."""
    complete_to: datetime | None
    """Once they are dealt with, so is every decision that began before; None when more are left than a run takes on."""


def choose_decisions(store: Store, job: Job, ledger: Ledger) -> Chosen:
    """Returns what a new run of a job takes on."""
    handled = ledger.handled(job.name)
    found = _nominated(store, job, len(handled)) if job.triage else _selected(store, job, ledger)
    new = [d for d in found if (d.trace_id, d.span_id) not in handled]
    taken = new[: min(job.limit, job.triage or job.limit)]
    starts = [d.started for d in found if d.started is not None]
    is_all = len(taken) == len(new) and len(starts) == len(found) and not job.triage
    return Chosen(decisions=tuple(taken), complete_to=max(starts) if is_all and starts else None)


def _nominated(store: Store, job: Job, handled: int) -> list[Decision]:
    found = triage(store, load_policy(), limit=job.triage + handled)
    return [
        Decision(trace_id=n.trace_id, span_id=n.span_id, event=_event(n.event), started=n.row["started"]) for n in found
    ]


def _event(event: str) -> str | None:
    return None if event.startswith("span:") else event


def _selected(store: Store, job: Job, ledger: Ledger) -> list[Decision]:
    mark = ledger.watermark(job.name)
    query = (
        job.select
        if is_query(job.select)
        else f"SELECT trace_id, span_id, started FROM decisions WHERE {job.select} ORDER BY started, span_id"
    )
    if mark is None:
        return read_decisions(run_query(store, query))
    columns = run_query(store, f"SELECT * FROM ({query}) LIMIT 0").columns
    if "started" not in columns:
        return read_decisions(run_query(store, query))
    return read_decisions(run_query(store, f"SELECT * FROM ({query}) WHERE started >= ?", [mark - LATENESS]))
