"""`whyspan test`."""

from pathlib import Path

import click

from ...analysis.cases import freeze
from ...analysis.regression.writer import write_test
from ...analysis.targets import select
from ...ingest.rebuild import load_calls
from ..output import Session, write_json


@click.command(epilog="Example: whyspan test last tool:forward_email --out tests/test_inbox.py")
@click.argument("run", default="last")
@click.argument("event", default="last")
@click.option("--out", "path", type=click.Path(path_type=Path), required=True, help="The test file: test_NAME.py.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, run: str, event: str, path: Path, as_json: bool) -> None:
    """Write a regression test for a decision, and the frozen case beside it.

    The test fails until the prompt in it stops the decision; `whyspan fix --write-test` writes one with a verified fix.
    The case holds the recorded request: look it over before you commit it.
    """
    with session.open_store() as store:
        call, target = select(load_calls(store, store.resolve_run(run)), event)
    written = write_test(path, freeze(call, target))
    if as_json:
        write_json({"test": str(written.test), "case": str(written.case)})
        return
    click.echo(f"wrote {written.test}\n      {written.case}")
    click.echo(f"\nnext: pytest {written.test} --whyspan-base-url URL")
