"""`whyspan doctor`: how complete the recorded calls are, and what to switch on."""

from collections import Counter
from collections.abc import Iterator

import click

from ...ingest.calls import Grade
from ...ingest.rebuild import Diagnosis, diagnose, read_traces
from ...ingest.rebuild.diagnosis import InstrumentationReport
from ...ingest.spans import TraceId
from ...ingest.store import Store
from ...ingest.store.querying import run_query
from ..output import Paint, Session, write_json

LATEST = 50
"""Runs of each service that are looked at when none is named."""
_FIELDS = 6
"""Field names shown of one reason; `--json` has all of them."""
_WORDS = {
    Grade.EXACT: "exact",
    Grade.SEMANTIC: "semantic",
    Grade.PARTIAL: "partial",
    Grade.NOT_REPLAYABLE: "not replayable",
}
_COLOURS = {Grade.EXACT: "green", Grade.SEMANTIC: "green", Grade.PARTIAL: "yellow", Grade.NOT_REPLAYABLE: "red"}


@click.command(epilog="Example: whyspan doctor last")
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the diagnosis as JSON.")
@click.pass_obj
def command(session: Session, run: str | None, as_json: bool) -> None:
    """Say how complete the recorded calls are and what to switch on.

    RUN is `last`, a trace id or its beginning, or a session id; without it the latest 50 runs of each service are
    looked at: an instrumentation loses the same in all of them.

    \b
    exact           the request was recorded as it was sent
    semantic        every message, tool and setting that the instrumentation can record is there
    partial         something that may matter is missing
    not replayable  the messages are missing
    """
    with session.open_store() as store:
        ids = store.resolve_traces(run) if run else _latest_runs(store)
        diagnosis = diagnose(read_traces(store, ids))
    if as_json:
        write_json(diagnosis.to_json())
        return
    paint = Paint.stdout(session)
    for line in _report(diagnosis, paint):
        click.echo(line)
    click.echo(f"\nnext: {session.command('calls ' + (run or 'last'))}")


def _latest_runs(store: Store) -> list[TraceId]:
    query = (
        "SELECT run_id FROM runs QUALIFY row_number() OVER (PARTITION BY service ORDER BY started DESC) <= $latest"
        " ORDER BY started"
    )
    return [TraceId(id) for (id,) in run_query(store, query, {"latest": LATEST}).rows]


def _report(diagnosis: Diagnosis, paint: Paint) -> Iterator[str]:
    calls = sum(diagnosis.grades.values())
    yield f"{_count(diagnosis.runs, 'run')}, {_count(calls, 'model call')}: {_grades(diagnosis.grades, paint)}"
    for report in sorted(diagnosis.instrumentations.values(), key=lambda r: -r.calls):
        if report.calls or (report.gaps and diagnosis.runs_without_calls):
            yield ""
            yield from _instrumentation(report, paint)
    if diagnosis.runs_without_calls:
        without = _count(diagnosis.runs_without_calls, "run")
        yield ""
        yield f"{without} without any model call. If a model was asked there, its client library is not instrumented:"
        yield "  → instrument it, or put whyspan.record() into the agent's process"
    if not calls and diagnosis.unread:
        scopes = ", ".join(f"{name or '(unnamed)'} ({n})" for name, n in diagnosis.unread.most_common(8))
        yield f"  spans that say nothing about a model: {scopes}"


def _instrumentation(report: InstrumentationReport, paint: Paint) -> Iterator[str]:
    title = paint(f"{report.name or '(unnamed library)'} {report.version}".rstrip(), bold=True)
    read_as = paint(f"read as {', '.join(sorted(report.dialects))}", dim=True)
    yield f"{title}  {read_as}"
    if report.calls:
        yield f"  {_count(report.calls, 'call')}: {_grades(report.grades, paint)}"
    by_remedy: dict[str, list[str]] = {}
    for (reason, remedy), fields in report.advice().items():
        shown = ", ".join(list(fields)[:_FIELDS]) + (
            f" and {len(fields) - _FIELDS} more" if len(fields) > _FIELDS else ""
        )
        share = f"  missing in {max(fields.values())}: " if report.calls else "  missing: "
        by_remedy.setdefault(remedy, []).append(f"{share}{paint(shown)}\n    {paint(reason, dim=True)}")
    for remedy, lines in by_remedy.items():
        yield from lines
        if remedy:
            yield f"    → {paint(remedy, fg='cyan')}"


def _grades(grades: Counter[Grade], paint: Paint) -> str:
    there = [paint(f"{grades[g]} {_WORDS[g]}", fg=_COLOURS[g]) for g in Grade if grades[g]]
    return ", ".join(there) or "none"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)
