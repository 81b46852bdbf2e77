"""`whyspan sql`: queries over the views of the store."""

from pathlib import Path

import click

from ..output import Session
from ..tables import Format, format_options, write_result


@click.command(epilog='Example: whyspan sql "SELECT model, count(*), sum(cost_usd) FROM llm_calls GROUP BY model"')
@click.argument("query")
@format_options
@click.option("--parquet", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write Parquet.")
@click.pass_obj
def command(session: Session, query: str, output: Format, parquet: Path | None) -> None:
    """Query the store with SQL (DuckDB's), read-only.

    \b
    Views: runs, llm_calls, tool_calls, decisions, scores, trials, claims, jobs, job_runs, job_items, scenarios,
    knowledge, missions, messages, spans, log_records. attr(attributes, 'key') gives an attribute as text,
    argument(tool_calls, 'tool', '$.path') an argument of a call.
    """
    from ...ingest.store.querying import run_query, write_parquet

    with session.open_store() as store:
        if parquet is not None:
            write_parquet(store, query, parquet)
            return
        result = run_query(store, query)
    write_result(result, output)
