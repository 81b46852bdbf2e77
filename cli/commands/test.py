"""`whyspan test`."""

from pathlib import Path

import click

from ...analysis.cases import Case
from ...analysis.regression.writer import write_test
from ..output import Session, write_json
from ..selecting import choose_cases, select_option


@click.command(epilog="Example: whyspan test last tool:forward_email --out tests/test_inbox.py")
@click.argument("run", default="last")
@click.argument("event", default="last")
@select_option
@click.option(
    "--out",
    "path",
    type=click.Path(path_type=Path),
    required=True,
    help="The test file: test_NAME.py; with --select the folder to write them to.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, run: str, event: str, query: str, path: Path, as_json: bool) -> None:
    """Write a regression test for a decision, and the frozen case beside it.

    The test fails until the prompt in it stops the decision; `whyspan fix --write-test` writes one with a verified fix.
    The case holds the recorded request: look it over before you commit it.
    """
    with session.open_store() as store:
        cases = choose_cases(store, run, event, query)
    written = [write_test(path / _file_name(case) if query else path, case) for case in cases]
    files = [{"test": str(w.test), "case": str(w.case)} for w in written]
    if as_json:
        write_json({"tests": files} if query else files[0])
        return
    for file in files:
        click.echo("wrote {test}\n      {case}".format_map(file))
    click.echo(f"\nnext: pytest {path} --whyspan-base-url URL")


def _file_name(case: Case) -> str:
    return f"test_{case.origin.trace_id[:12]}_{case.origin.span_id[:8]}.py"
