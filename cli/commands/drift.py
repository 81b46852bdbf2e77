"""`whyspan drift`."""

from typing import TYPE_CHECKING

import click

from ..output import Paint, Session, write_json

if TYPE_CHECKING:
    from ...analysis.trend import Trend


@click.command(epilog="Example: whyspan drift tool:issue_refund --where \"service = 'refund-agent'\"")
@click.argument("event")
@click.option("--where", "condition", default="", metavar="SQL", help="A condition on the columns of `decisions`.")
@click.option(
    "--by", "period", type=click.Choice(["day", "week", "month"]), default="week", show_default=True, help="Period."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, event: str, condition: str, period: str, as_json: bool) -> None:
    """Show how often EVENT comes over time, models and versions, where that changed, and which claims still hold.

    Rates are those of the recorded decisions, with 95 % intervals; no model is asked.
    """
    from ...analysis.targets import parse_target
    from ...analysis.trend import find_trend
    from ..report.trend_text import render_trend

    target = parse_target(event)
    with session.open_store() as store:
        trend = find_trend(store, target, condition=condition, period=period)
    if as_json:
        write_json(_document(trend))
        return
    if not trend.periods:
        click.echo("no decision is like that: `whyspan decisions` lists what there is")
        return
    paint = Paint.stdout(session)
    click.echo(f"{paint('drift', bold=True)}  {paint(target.spec)}\n")
    for line in render_trend(trend, paint):
        click.echo(line)


def _document(trend: "Trend") -> dict[str, object]:
    return {
        "periods": [
            {
                "start": p.start.date(), "model": p.model, "version": p.version, "hits": p.hits,
                "decisions": p.decisions, "rate": p.rate, "interval": p.interval,
            }
            for p in trend.periods
        ],
        "changes": [
            {"start": c.start.date(), "before": c.before, "after": c.after, "p_value": c.p_value} for c in trend.changes
        ],
        "claims": [
            {"claim_id": c.claim_id, "kind": c.kind, "subject": c.subject, "state": c.state, "measured": c.measured,
             "model": c.model}
            for c in trend.claims
        ],
    }  # fmt: skip
