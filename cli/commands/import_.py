"""`whyspan import`: bring in spans and logs from files."""

import sys
from pathlib import Path
from time import strftime

import click

from ...ingest.errors import FormatError
from ...ingest.sources import ImportReport, import_files, write_rejects
from ..output import Session, write_json
from . import import_langfuse, import_mlflow, import_phoenix


@click.group("import")
def command() -> None:
    """Bring in spans and logs that are already somewhere."""


for _name, _module in (("langfuse", import_langfuse), ("mlflow", import_mlflow), ("phoenix", import_phoenix)):
    command.add_command(_module.command, _name)


@command.command("otlp", epilog="Example: whyspan import otlp traces/*.json logs.pb.gz")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--rejects", type=click.Path(dir_okay=False, path_type=Path), help="Where to put what cannot be read.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
@click.pass_obj
def otlp(session: Session, files: tuple[str, ...], rejects: Path | None, as_json: bool) -> None:
    """Import files of spans and log records; the format is recognised by the content.

    OTLP as JSON, JSON lines or protobuf, the collector's file exporter, the Python SDK's console exporter, and
    runtape traces; plain, gzip or zstd. A folder stands for the files in it, `-` for standard input.
    """
    with session.create_store() as store:
        report = import_files(store, files, progress=_progress)
        target = rejects or store.path / "rejects" / f"{strftime('%Y%m%d-%H%M%S')}.jsonl"
    if report.rejects:
        write_rejects(target, report.rejects)
    if as_json:
        write_json(_summary(report, target))
    else:
        _tell(session, report)
    _complain(report, target)


def _progress(done: int, total: int) -> None:
    if total > 1 and sys.stderr.isatty():
        click.echo(f"\r{done} of {total} files", err=True, nl=done == total)


def _summary(report: ImportReport, target: Path) -> dict[str, object]:
    return {
        "files": report.files,
        "spans": report.spans,
        "log_records": report.logs,
        "rejected": len(report.rejects),
        "reject_file": str(target) if report.rejects else None,
    }


def _tell(session: Session, report: ImportReport) -> None:
    files = f"{report.files} file" + "s" * (report.files != 1)
    click.echo(f"imported {report.spans} spans and {report.logs} log records from {files}")
    if report.spans:
        click.echo(f"next: {session.command('runs')}")


def _complain(report: ImportReport, target: Path) -> None:
    if not report.rejects:
        return
    first = report.rejects[0]
    summary = f"{len(report.rejects)} rejected; the first: {first.place}: {first.reason}"
    if not (report.spans or report.logs):
        raise FormatError(f"nothing was imported, {summary}", hint=f"all of them are in {target}")
    click.echo(f"warning: {summary}", err=True)
    click.echo(f"all of them are in {target}", err=True)
