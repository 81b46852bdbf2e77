"""`whyspan fix`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from ...analysis.attribution.problem import Options
from ...analysis.fixes.fix import FixReport, find_fixes
from ...analysis.regression.writer import write_test
from ...ingest.errors import ExitCode, UsageError
from ..output import Paint, Session, write_json
from ..replaying import ReplayArguments, desk_of, replay_options
from ..report.fix_text import render_fix
from ..selecting import choose_cases, select_option


@click.command(epilog="Example: whyspan fix last tool:forward_email --write-test tests/test_inbox.py --base-url URL")
@click.argument("run", default="last")
@click.argument("event", default="last")
@select_option
@replay_options
@click.option(
    "--write-test", "test_path", type=click.Path(path_type=Path), help="Write a regression test: test_NAME.py."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session,
    run: str,
    event: str,
    query: str,
    replay: ReplayArguments,
    test_path: Path | None,
    as_json: bool,
) -> int:
    """Measure which changes stop a decision.

    Finds the cause first (free after `why`), then measures the untrusted-content rule, an action guard, both, and the
    source corrected. Exit codes: 0 a change is supported, 1 none is.
    """
    if query and test_path:
        raise UsageError("--write-test takes one decision", hint="`whyspan test --select` writes a test for each")
    with desk_of(session, replay) as desk:
        cases = choose_cases(desk.store, run, event, query)
        reports = [asyncio.run(find_fixes(desk, case, Options())) for case in cases]
    if query:
        return _print_all(session, reports, as_json)
    report = reports[0]
    written = write_test(test_path, report.case, claims=report.why.claims, fix=report.best_rule) if test_path else None
    if as_json:
        files = {"test": str(written.test), "case": str(written.case)} if written else None
        write_json({**report.to_json(), "written": files})
    else:
        for line in render_fix(report, Paint.stdout(session)):
            click.echo(line)
        click.echo(f"\nnext: {_next(session, report, run, event, replay, test_path)}")
    return ExitCode.OK if report.best else ExitCode.FINDING


def _print_all(session: Session, reports: Sequence[FixReport], as_json: bool) -> int:
    if as_json:
        write_json({"reports": [r.to_json() for r in reports]})
    else:
        for line in (line for report in reports for line in (*render_fix(report, Paint.stdout(session)), "")):
            click.echo(line)
    return ExitCode.OK if reports and all(r.best for r in reports) else ExitCode.FINDING


def _next(
    session: Session, report: FixReport, run: str, event: str, replay: ReplayArguments, test_path: Path | None
) -> str:
    if test_path:
        model = replay.words().replace(" --", " --whyspan-")
        return f"pytest {test_path}{model}"
    if report.best_rule:
        return session.command(f"fix {run} {event}{replay.words()} --write-test tests/test_NAME.py")
    return session.command(f"show {run} {event}")
