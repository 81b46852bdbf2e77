"""`whyspan test`."""

from collections.abc import Sequence
from pathlib import Path

import click

from ...analysis.cases import Case
from ...analysis.regression.redaction import SECRETS, Rule, user_rule
from ...analysis.regression.suite import check_suite, place_in_suite
from ...analysis.regression.writer import WrittenTest, write_test
from ...ingest.errors import ExitCode, UsageError
from ...ingest.overlays import Overlays
from ..output import Paint, Session, printable, write_json
from ..overlay_options import overlay_options
from ..report.test_text import render_written
from ..selecting import choose_cases, select_option

FILE = click.Path(path_type=Path)


@click.command(epilog="Example: whyspan test last tool:forward_email --out tests/test_inbox.py")
@click.argument("run", default="last")
@click.argument("event", default="last")
@select_option
@overlay_options
@click.option("--out", type=FILE, metavar="FILE", help="The test file, test_NAME.py; with --select a folder.")
@click.option("--suite", type=FILE, metavar="DIR", help="A folder of tests: names are found, cases known are kept.")
@click.option("--check", is_flag=True, help="Only look through the suite: lost, copied, unused and damaged cases.")
@click.option("--redact", multiple=True, metavar="REGEX", help="Take this out of the case as well; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session,
    run: str,
    event: str,
    query: str,
    overlays: Overlays,
    out: Path | None,
    suite: Path | None,
    check: bool,
    redact: Sequence[str],
    as_json: bool,
) -> int:
    """Write a regression test for a decision, and the frozen case beside it.

    The test fails until the prompt in it stops the decision; `whyspan fix --write-test` writes one with a verified fix.
    Secrets are taken out of the case; what else leaves the store is listed: look it over before you commit it.

    Exit codes: 0 written, or the suite is sound; 1 the suite needs a look.
    """
    if bool(out) == bool(suite):
        raise UsageError("give --out FILE, the test to write, or --suite DIR, a folder of tests")
    if check:
        return _check(suite, as_json)
    rules = (*SECRETS, *map(user_rule, redact))
    with session.open_store() as store:
        cases = choose_cases(store, run, event, query, overlays=overlays)
    if query or out is None:
        written = [_add(suite or out or Path(), case, rules) for case in cases]
    else:
        written = [write_test(out, cases[0], rules=rules)]
    _print(session, written, out or suite, as_json, many=bool(query))
    return ExitCode.OK


def _add(folder: Path, case: Case, rules: tuple[Rule, ...]) -> WrittenTest:
    return write_test(place_in_suite(folder, case, rules), case, rules=rules)


def _print(session: Session, written: Sequence[WrittenTest], where: Path | None, as_json: bool, *, many: bool) -> None:
    if as_json:
        files = [{"test": str(w.test), "case": str(w.case)} for w in written]
        write_json({"tests": files} if many else files[0])
        return
    paint = Paint.stdout(session)
    for line in (line for w in written for line in render_written(w, paint)):
        click.echo(line)
    click.echo(f"\nnext: pytest {where} --whyspan-base-url URL")


def _check(suite: Path | None, as_json: bool) -> int:
    if suite is None or not suite.is_dir():
        raise UsageError("--check needs --suite DIR, a folder of tests")
    state = check_suite(suite)
    if as_json:
        problems = [{"path": str(p.path), "what": p.what} for p in state.problems]
        write_json({"cases": state.cases, "tests": state.tests, "problems": problems})
    else:
        for problem in state.problems:
            click.echo(f"{printable(str(problem.path))}: {printable(problem.what)}")
        click.echo(f"{state.cases} cases, {state.tests} test files, {len(state.problems)} problems")
    return ExitCode.FINDING if state.problems else ExitCode.OK
