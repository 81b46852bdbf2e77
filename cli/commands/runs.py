"""`whyspan runs`: what is in the store."""

import click

from ..output import Session, write_json, write_table

_SHOWN = ("run_id", "started", "duration_ms", "service", "name", "llm_calls", "tool_calls", "errors")


@click.command(epilog="Example: whyspan runs --limit 50")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(session: Session, limit: int, as_json: bool) -> None:
    """List the runs in the store, latest first."""
    from ...ingest.store.querying import open_sandbox
    from ...ingest.store.runs import latest_runs

    with session.open_store() as store, open_sandbox(store) as sandbox:
        ids = latest_runs(sandbox, limit=limit)
        marks = ", ".join("?" * len(ids)) or "NULL"
        query = f"SELECT * FROM runs WHERE run_id IN ({marks}) ORDER BY started DESC, run_id"
        rows = sandbox.select(query, ids).records()
    if as_json:
        write_json({"runs": rows})
        return
    if not rows:
        click.echo("the store has no runs yet: point an exporter at `whyspan serve`, or see `whyspan demo`")
        return
    shown = [{**row, "run_id": row["run_id"][:12], "started": f"{row['started']:%Y-%m-%d %H:%M:%S}"} for row in rows]
    write_table(_SHOWN, [[row[column] for column in _SHOWN] for row in shown])
    click.echo(f"\nnext: {session.command('show ' + shown[0]['run_id'])}")
