"""`whyspan store`: look after the store."""

import click

from ...ingest.errors import ExitCode
from ..output import Session, write_json, write_table


@click.group(name="store", epilog="Example: whyspan store prune --keep-days 30")
def command() -> None:
    """Look after the store: size, soundness, old data."""


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def stats(session: Session, as_json: bool) -> None:
    """Show tables, files, bytes and what is still pending."""
    with session.open_store() as store:
        found = store.stats()
    if as_json:
        tables = [
            {name: getattr(table, name) for name in ("table", "files", "rows", "bytes", "oldest", "newest")}
            for table in found.tables
        ]
        write_json({"tables": tables, "pending_bytes": found.pending_bytes, "quarantined": found.quarantined})
        return
    rows = [(t.table, t.files, t.rows, t.bytes, t.oldest, t.newest) for t in found.tables]
    write_table(("table", "files", "rows", "bytes", "oldest", "newest"), rows)
    click.echo(f"\npending: {found.pending_bytes} bytes, set aside as undecodable: {found.quarantined} requests")


@command.command()
@click.pass_obj
def compact(session: Session) -> None:
    """Merge small files into large ones (the collector does it by itself)."""
    with session.open_store() as store:
        click.echo(f"{store.compact()} merges done")


@command.command()
@click.option("--keep-days", type=click.IntRange(min=1), required=True, help="Delete what began earlier than this.")
@click.pass_obj
def prune(session: Session, keep_days: int) -> None:
    """Delete old spans and log records."""
    with session.open_store() as store:
        click.echo(f"{store.prune(keep_days=keep_days)} rows deleted")


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def verify(session: Session, as_json: bool) -> int:
    """Read everything and check it; exit code 3 when something is wrong."""
    with session.open_store() as store:
        problems = store.verify()
    if as_json:
        write_json({"problems": problems})
    else:
        click.echo("\n".join(problems) or "the store is sound")
    return ExitCode.BAD_DATA if problems else ExitCode.OK
