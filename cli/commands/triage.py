"""`whyspan triage`: which decisions are worth explaining, and why each is on the list."""

import shlex

import click

from ..output import Paint, Session, write_json
from ..tables import ID_LENGTH


@click.command(epilog="Example: whyspan triage --where \"service = 'inbox-agent'\" --limit 10")
@click.option(
    "--where", "condition", default="claims = 0", metavar="SQL", show_default=True,
    help="A condition on the columns of `decisions`.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most so many.")
@click.option("--latest", type=click.IntRange(min=1), help="Look at the latest so many decisions [10000].")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, condition: str, limit: int, latest: int | None, as_json: bool) -> None:
    """Rank decisions by signals in the store: errors, complaints, bad scores, what is rare, orders in data.

    Calls no model. A signal nominates, it never claims: `why` finds out. What is rare shows against the other decisions
    that are looked at. [policy] in whyspan.toml adds rules:
    never = ["tool:drop_database", "tool:issue_refund[amount_usd>500]"], bad_below = { reward = 0.5 }.
    """
    from ...analysis.policy import load_policy
    from ...analysis.triage import LATEST, triage
    from ..report.triage_text import render_triage

    policy = load_policy()
    with session.open_store() as store:
        nominations = triage(store, policy, condition=condition, limit=limit, latest=latest or LATEST)
    if as_json:
        write_json({"nominations": [n.to_json() for n in nominations]})
        return
    if not nominations:
        click.echo("nothing stands out: `whyspan decisions` lists all there is")
        return
    for line in render_triage(nominations, Paint.stdout(session)):
        click.echo(line)
    first = nominations[0]
    question = f"{first.trace_id[:ID_LENGTH]} {shlex.quote(first.question)}"
    click.echo(f"\nnext: {session.command(f'why {question}')}")
