"""`whyspan decisions`: which model calls there are to ask about."""

import click

from ..output import Session
from ..tables import ID_LENGTH, Format, format_options, write_records, write_result

SHOWN = ("run", "span", "started", "model", "tool_names", "reply_text", "error", "completeness", "claims")


@click.command(epilog="Example: whyspan decisions --where \"list_contains(tool_names, 'issue_refund') AND claims = 0\"")
@click.option("--where", "condition", default="", metavar="SQL", help="A condition on the columns of `decisions`.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most so many.")
@format_options
@click.pass_obj
def command(session: Session, condition: str, limit: int, output: Format) -> None:
    """List decisions, latest first: model calls, what each did, and the claims made about it so far.

    The same condition picks what to explain: whyspan why --select "CONDITION". `whyspan sql "DESCRIBE decisions"` shows
    the columns; argument(tool_calls, 'issue_refund', '$.amount')::DOUBLE > 1000 looks into the arguments.
    """
    from ...analysis.selection import decisions_where

    with session.open_store() as store:
        result = decisions_where(store, condition, limit=limit, with_scores=output is not None)
    if output:
        write_result(result, output, name="decisions")
        return
    if not result.rows:
        click.echo("no decision is like that: `whyspan runs` lists what was recorded")
        return
    records = [
        {**row, "run": row["trace_id"][:ID_LENGTH], "span": row["span_id"][:ID_LENGTH]} for row in result.records()
    ]
    write_records(SHOWN, records, width=40)
    click.echo(f"\nnext: {session.command('why {run} span:{span}'.format_map(records[0]))}")
