"""Running a job: one process at a time, from where the last one stopped, under what is left of its budgets."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ...ingest.errors import ExitCode
from ...ingest.garbage import rare_collections
from ...ingest.prices import read_prices
from ...ingest.settings import load_section
from ...ingest.store import Store
from ..replay.budget import Budget
from ..replay.models import choose_model
from .choosing import choose_decisions
from .definition import Job
from .ledger import LEDGER_FILE, Item, ItemStatus, Ledger, Run, RunStatus, month_of
from .links import load_known
from .lock import job_lock
from .records import run_span
from .shared_desk import SharedDesk
from .working import Standing, Work

UNFINISHED = (RunStatus.RUNNING, RunStatus.INTERRUPTED)
"""Statuses of a run that the next one continues: its process died, or was told to stop."""
EXIT_CODES = {
    RunStatus.BUDGET: ExitCode.BUDGET,
    RunStatus.FAILED: ExitCode.UPSTREAM,
    RunStatus.CANCELLED: ExitCode.INTERRUPTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What a run of a job came to."""

    run: Run | None
    """None when there was nothing new."""
    items: tuple[Item, ...]

    def count(self, status: ItemStatus) -> int:
        """Returns how many items stand so."""
        return sum(item.status is status for item in self.items)

    @property
    def exit_code(self) -> ExitCode:
        """0 all dealt with, 1 all but some that failed, 4 the model failed, 5 a budget ended, 130 cancelled."""
        failed = ExitCode.FINDING if self.count(ItemStatus.FAILED) else ExitCode.OK
        return EXIT_CODES.get(self.run.status, failed) if self.run else ExitCode.OK


def run_job(store: Store, job: Job, *, on_progress: Callable[[Standing], None] = lambda _: None) -> JobResult:
    """Runs a job once, or continues the run that was stopped.

    Raises JobRunningError when another process runs it, UsageError for a wrong selection or without a model.
    """
    with job_lock(store.path / "jobs" / f"{job.name}.lock", job.name), rare_collections():
        ledger = Ledger(store.path / LEDGER_FILE)
        try:
            return _run_locked(store, job, ledger, on_progress)
        finally:
            ledger.close()


def _run_locked(store: Store, job: Job, ledger: Ledger, on_progress: Callable[[Standing], None]) -> JobResult:
    model = choose_model(model_fn=job.model_fn, base_url=job.base_url)
    run = _open_run(store, job, ledger)
    if run is None:
        return JobResult(run=None, items=())
    budget = budget_of(job, run, ledger)
    model.policy.limits.cap(budget)
    desk = SharedDesk(
        store=store, model=model, budget=budget, concurrency=job.concurrency,
        per_experiment=job.per_decision, prices=read_prices(load_section("prices")),
    )  # fmt: skip
    known = load_known(store, before_ns=run.started_ns)
    work = Work(desk=desk, job=job, ledger=ledger, run=run, known=known, on_progress=on_progress)
    try:
        asyncio.run(_work(work, ledger.items(run.run_id)))
    except BaseException as error:
        status = RunStatus.INTERRUPTED if isinstance(error, KeyboardInterrupt) else RunStatus.FAILED
        _end(store, ledger, run, status, str(error))
        raise
    return _end(store, ledger, run, work.stopped or RunStatus.DONE, work.note)


async def _work(work: Work, items: list[Item]) -> None:
    try:
        await work.do(items)
    finally:
        await work.desk.aclose()


def _open_run(store: Store, job: Job, ledger: Ledger) -> Run | None:
    """Returns the run to work on; None when there is nothing new."""
    latest = ledger.runs(job.name, limit=1)
    if latest and latest[0].status in UNFINISHED and not latest[0].is_cancelled:
        return ledger.reopen(latest[0].run_id)
    chosen = choose_decisions(store, job, ledger)
    if not chosen.decisions:
        return None
    return ledger.start(secrets.token_hex(6), job.name, chosen.decisions, chosen.complete_to)


def budget_of(job: Job, run: Run | None, ledger: Ledger) -> Budget:
    """Returns what a run may still pay: of its own budget, and of the month's."""
    calls, cost = (run.calls, run.cost_usd) if run else (0, 0.0)
    month_calls, month_cost = ledger.spent(job.name, month_of(run.started_ns if run else time.time_ns()))
    caps = [job.budget - calls, *([job.budget_month - month_calls] if job.budget_month is not None else [])]
    money = [cap - paid for cap, paid in ((job.max_cost, cost), (job.max_cost_month, month_cost)) if cap is not None]
    return Budget(max(0, min(caps)), cost_usd=max(0.0, min(money)) if money else None)


def _end(store: Store, ledger: Ledger, run: Run, status: RunStatus, note: str) -> JobResult:
    ended = ledger.end(run.run_id, status, note)
    result = JobResult(run=ended, items=tuple(ledger.items(run.run_id)))
    counts = Counter(item.status for item in result.items)
    if status is RunStatus.DONE and not counts[ItemStatus.FAILED]:
        ledger.advance(ended)
    store.write([run_span(ended, dict(counts))])
    return result
