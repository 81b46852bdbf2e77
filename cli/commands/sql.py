"""`whyspan sql`: queries over the views of the store."""

import click

from ..output import Session
from ..tables import Format, format_options, write_result


@click.command(epilog='Example: whyspan sql "SELECT model, count(*), sum(cost_usd) FROM llm_calls GROUP BY model"')
@click.argument("query")
@format_options
@click.pass_obj
def command(session: Session, query: str, output: Format) -> None:
    """Query the store with SQL (DuckDB's), read-only.

    \b
    Views: runs, llm_calls, tool_calls, decisions, scores, trials, claims, jobs, job_runs, job_items, messages, spans,
    log_records. attr(attributes, 'key') gives an attribute as text, argument(tool_calls, 'tool', '$.path') an
    argument of a call.
    """
    from ...ingest.store.querying import run_query

    with session.open_store() as store:
        result = run_query(store, query)
    write_result(result, output)
