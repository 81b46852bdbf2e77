"""`whyspan fix`."""

import asyncio
from pathlib import Path

import click

from ...analysis.attribution.problem import Options
from ...analysis.fixes.fix import FixReport, find_fixes
from ...analysis.regression.writer import write_test
from ...ingest.errors import ExitCode
from ..output import Paint, Session, write_json
from ..replaying import ReplayArguments, desk_of, replay_options
from ..report.fix_text import render_fix


@click.command(epilog="Example: whyspan fix last tool:forward_email --write-test tests/test_inbox.py --base-url URL")
@click.argument("run", default="last")
@click.argument("event", default="last")
@replay_options
@click.option(
    "--write-test", "test_path", type=click.Path(path_type=Path), help="Write a regression test: test_NAME.py."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session, run: str, event: str, replay: ReplayArguments, test_path: Path | None, as_json: bool
) -> int:
    """Measure which changes stop a decision.

    Finds the cause first (free after `why`), then measures the untrusted-content rule, an action guard, both, and the
    source corrected. Exit codes: 0 a change is supported, 1 none is.
    """
    with desk_of(session, replay) as desk:
        report = asyncio.run(find_fixes(desk, desk.case(run, event), Options()))
    written = write_test(test_path, report.case, claims=report.why.claims, fix=report.best_rule) if test_path else None
    if as_json:
        files = {"test": str(written.test), "case": str(written.case)} if written else None
        write_json({**report.to_json(), "written": files})
    else:
        for line in render_fix(report, Paint.stdout(session)):
            click.echo(line)
        click.echo(f"\nnext: {_next(session, report, run, event, replay, test_path)}")
    return ExitCode.OK if report.best else ExitCode.FINDING


def _next(
    session: Session, report: FixReport, run: str, event: str, replay: ReplayArguments, test_path: Path | None
) -> str:
    if test_path:
        model = replay.words().replace(" --", " --whyspan-")
        return f"pytest {test_path}{model}"
    if report.best_rule:
        return session.command(f"fix {run} {event}{replay.words()} --write-test tests/test_NAME.py")
    return session.command(f"show {run} {event}")
