"""`whyspan report`: one self-contained page about a run, a claim or a job."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...ingest.errors import UsageError
from ..output import Session, write_json

if TYPE_CHECKING:
    from ...ingest.store import Store


@click.command(epilog="Example: whyspan report last --html report.html")
@click.argument("reference", metavar="RUN|CLAIM|JOB", default="last")
@click.option(
    "--html", "path", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document that names the file.")
@click.pass_obj
def command(session: Session, reference: str, path: Path, as_json: bool) -> None:
    """Write a page that stands alone: no network, no script, dark or light as the reader has it.

    Of a run: the waterfall, and for each explained decision the prompt with an attribution heat map, the quoted cause,
    rates with and without it, fixes, and the command that reproduces each number. CLAIM is the beginning of a claim's
    id, JOB the name of a job that has run. The page quotes the trace: look it over before you send it on.
    """
    with session.open_store() as store:
        kind, page = _build(store, reference)
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    if as_json:
        write_json({"about": kind, "html": str(path), "bytes": len(page.encode())})
    else:
        click.echo(f"wrote {path}: the {kind}, {len(page.encode()) / 1024:,.0f} KB")


def _build(store: "Store", reference: str) -> tuple[str, str]:
    from ...analysis.jobs.definition import load_jobs
    from ...analysis.jobs.ledger import LEDGER_FILE, Ledger
    from ..report.pages.building import build_claim_page, build_job_page, build_run_page, is_claim

    if (store.path / LEDGER_FILE).exists():
        with closing(Ledger(store.path / LEDGER_FILE)) as ledger:
            if ledger.runs(reference, limit=1):
                return "job", build_job_page(store, ledger, reference)
    if is_claim(store, reference):
        return "claim", build_claim_page(store, reference)
    if reference in load_jobs():
        raise UsageError(
            f"the job {reference!r} has not worked on anything yet",
            hint=f"`whyspan jobs run {reference} --dry-run` tells what it would do",
        )
    return "run", build_run_page(store, store.resolve_run(reference))
