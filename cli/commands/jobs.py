"""`whyspan jobs`: run, list, status, history, cancel."""

import signal
import sys
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ...ingest.errors import ExitCode, UpstreamError, UsageError
from ..job_progress import JobProgress
from ..output import Session, printable, write_json, write_table
from ..tables import Format, format_options

if TYPE_CHECKING:
    from ...analysis.jobs.ledger import Ledger, Run
    from ...analysis.jobs.notification import Channel
    from ...analysis.jobs.runner import JobResult

RUN_COLUMNS = (
    "job",
    "run_id",
    "started",
    "status",
    "explained",
    "linked",
    "skipped",
    "failed",
    "left",
    "calls",
    "cost",
)

_SWITCH_S = 0.001
"""Replies that arrive wait no longer than this for the thread that reads and writes the store; Python's own is 5 ms."""


@click.group()
def command() -> None:
    """Explain many decisions under a budget, again and again: [jobs.NAME] in whyspan.toml.

    Scheduling is left to cron, systemd, Kubernetes or CI; deploy/jobs has examples. A run that was killed goes on where
    it stopped, and what was paid for is not paid for again.
    """


@command.command("run", epilog="Example: whyspan jobs run nightly")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Show what would be done and the most it can cost; asks no model.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def run_command(session: Session, name: str, dry_run: bool, as_json: bool) -> int:
    """Run a job once, or continue the run that was stopped.

    Exit codes: 0 all dealt with (or another process is at it), 1 some decisions failed, 4 the model failed, 5 the
    budget ended and the next run goes on, 130 cancelled or interrupted.
    """
    from ...analysis.jobs.definition import find_job
    from ...analysis.jobs.ledger import RunStatus
    from ...analysis.jobs.notification import read_channel, summary, summary_line
    from ...analysis.jobs.runner import run_job

    job = find_job(name)
    channels = [read_channel(text) for text in job.notify]
    if dry_run:
        return _show_plan(session, name, as_json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.setswitchinterval(_SWITCH_S)
    with session.open_store() as store, JobProgress(session) as progress:
        result = run_job(store, job, on_progress=progress)
    if result.run is None:
        _say_nothing(name, as_json)
        return ExitCode.OK
    if as_json:
        write_json(summary(result, result.run))
    else:
        click.echo(summary_line(result, result.run))
        words = "status" if result.run.status is RunStatus.DONE else "run"
        click.echo(f"\nnext: {session.command(f'jobs {words} {name}')}")
    for channel in channels:
        _tell(channel, result, result.run)
    return result.exit_code


def _say_nothing(name: str, as_json: bool) -> None:
    if as_json:
        write_json({"job": name, "status": "nothing new"})
    else:
        click.echo(f"job {name}: nothing new")


def _tell(channel: "Channel", result: "JobResult", run: "Run") -> None:
    """Notifies; that it fails changes nothing about what was done."""
    from ...analysis.jobs.notification import notify

    if channel.kind == "stdout":
        return
    try:
        notify(channel, result, run)
    except UpstreamError as error:
        click.echo(f"not notified: {printable(error.message)}", err=True)


def _show_plan(session: Session, name: str, as_json: bool) -> int:
    from ...analysis.jobs.choosing import choose_decisions
    from ...analysis.jobs.definition import find_job
    from ...analysis.jobs.runner import budget_of
    from ...analysis.jobs.steps import most_replays

    job = find_job(name)
    with session.open_store() as store, _ledger(session) as ledger:
        decisions = choose_decisions(store, job, ledger).decisions
        budget = budget_of(job, None, ledger)
    most = len(decisions) * most_replays(job)
    plan = {"job": name, "decisions": len(decisions), "calls_at_most": min(most, budget.cap), "budget_left": budget.cap}
    if as_json:
        write_json({**plan, "selected": [{"trace_id": d.trace_id, "span_id": d.span_id} for d in decisions]})
    else:
        click.echo("job {job}: {decisions} decisions, at most {calls_at_most:,} replays".format_map(plan))
        click.echo(f"\nnext: {session.command(f'jobs run {name}')}")
    return 0


@command.command("list")
@format_options
@click.pass_obj
def list_command(session: Session, output: Format) -> None:
    """List the jobs of whyspan.toml and how their last runs ended."""
    from ...analysis.jobs.definition import load_jobs
    from ...analysis.jobs.ledger import month_of

    month = month_of(int(datetime.now(UTC).timestamp() * 1e9))
    rows: list[dict[str, Any]] = []
    with _ledger(session) as ledger:
        for name, job in load_jobs().items():
            latest = next(iter(ledger.runs(name, limit=1)), None)
            rows.append({
                "job": name,
                "does": " → ".join(step.value for step in job.do),
                "last_run": _time(latest.started_ns) if latest else None,
                "status": latest.status.value if latest else "never run",
                "calls_this_month": ledger.spent(name, month)[0],
                "budget_month": job.budget_month,
            })  # fmt: skip
    if output == "json":
        write_json({"jobs": rows})
    elif rows:
        write_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
        click.echo(f"\nnext: {session.command('jobs run {job} --dry-run'.format_map(rows[0]))}")
    else:
        click.echo('no jobs: define one as [jobs.NAME] in whyspan.toml, with select = "…"; docs/jobs.md has examples')


@command.command("status")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def status_command(session: Session, name: str, as_json: bool) -> None:
    """Show a job's latest run: what became of each decision."""
    from ...analysis.jobs.lock import is_locked

    with _ledger(session) as ledger:
        run = _latest(ledger, name)
        items = ledger.items(run.run_id)
        record = _record(ledger, run)
    alive = is_locked(session.store_path / "jobs" / f"{name}.lock")
    if as_json:
        rows = [
            {
                **item.outcome,
                "trace_id": item.decision.trace_id,
                "span_id": item.decision.span_id,
                "status": item.status,
            }
            for item in items
        ]
        write_json({**record, "alive": alive, "items": rows})
        return
    write_table(RUN_COLUMNS, [[record[column] for column in RUN_COLUMNS]])
    if record["status"] == "running" and not alive:
        click.echo(f"its process is gone: `{session.command(f'jobs run {name}')}` goes on from there")
    click.echo("")
    shown = [
        (i.decision.trace_id[:12], i.decision.span_id[:8], i.status.value, i.outcome.get("target"), _words(i.outcome))
        for i in items
    ]
    write_table(("run", "span", "status", "target", "outcome"), shown)


@command.command("history")
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def history_command(session: Session, name: str | None, limit: int, as_json: bool) -> None:
    """List the runs of a job, or of all jobs, latest first."""
    with _ledger(session) as ledger:
        records = [_record(ledger, run) for run in ledger.runs(name, limit=limit)]
    if as_json:
        write_json({"runs": records})
    elif records:
        write_table(RUN_COLUMNS, [[record[column] for column in RUN_COLUMNS] for record in records])
    else:
        click.echo("no job has run yet")


@command.command("cancel")
@click.argument("name")
@click.pass_obj
def cancel_command(session: Session, name: str) -> None:
    """Stop a job's run; what is done stays, and what is left waits for the next run."""
    from ...analysis.jobs.ledger import RunStatus
    from ...analysis.jobs.lock import is_locked

    with _ledger(session) as ledger:
        run = _latest(ledger, name)
        if run.status not in (RunStatus.RUNNING, RunStatus.INTERRUPTED):
            raise UsageError(f"no run of {name!r} is going on: the last one is {run.status.value}")
        ledger.cancel(run.run_id)
        if is_locked(session.store_path / "jobs" / f"{name}.lock"):
            click.echo(f"asked run {run.run_id} to stop; it does within a second")
        else:
            ledger.end(run.run_id, RunStatus.CANCELLED)
            click.echo(f"run {run.run_id} is cancelled; its process was gone")


def _ledger(session: Session) -> Any:
    from contextlib import closing

    from ...analysis.jobs.ledger import LEDGER_FILE, Ledger

    with session.open_store():
        return closing(Ledger(session.store_path / LEDGER_FILE))


def _latest(ledger: "Ledger", name: str) -> "Run":
    found = ledger.runs(name, limit=1)
    if not found:
        raise UsageError(f"job {name!r} has never run", hint=f"whyspan jobs run {name}")
    return found[0]


def _record(ledger: "Ledger", run: "Run") -> dict[str, Any]:
    counts = Counter(item.status.value for item in ledger.items(run.run_id))
    return {
        "job": run.job,
        "run_id": run.run_id,
        "started": _time(run.started_ns),
        "status": run.status.value,
        "explained": counts["done"],
        **{key: counts[key] for key in ("linked", "skipped", "failed")},
        "left": counts["waiting"],
        "calls": run.calls,
        "tokens": run.tokens,
        "cost": round(run.cost_usd, 4),
        "note": run.note,
    }


def _words(outcome: dict[str, Any]) -> str:
    words = []
    if outcome.get("note"):
        words.append(outcome["note"])
    if outcome.get("rate") is not None:
        words.append("rate {rate:.2f} of {n}".format_map(outcome))
    if outcome.get("headline"):
        words.append("cause, effect {effect:+.2f}".format_map(outcome))
        if chain := outcome.get("chain"):
            words.append(f"chain of {len(chain['links'])}, end: {chain['end'].replace('_', ' ')}")
    elif outcome.get("stop"):
        words.append(outcome["stop"].replace("_", " "))
    words += [f"{key}: {outcome[key]}" for key in ("fix", "test") if outcome.get(key)]
    return "; ".join(words)


def _time(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}"
