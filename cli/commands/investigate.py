"""`whyspan investigate`."""

import asyncio

import click

from ...analysis.attribution.problem import Options
from ...analysis.attribution.why import find_cause
from ...ingest.errors import ExitCode
from ..output import Session, printable, write_json, write_table
from ..replaying import ReplayArguments, agree, desk_of, replay_options
from ..selecting import choose_cases, select_option


@click.command(epilog='Example: whyspan investigate -d "why was the invoice forwarded?" last tool:forward_email')
@click.argument("run", default="last")
@click.argument("event", default="last")
@click.option("-d", "--description", default="", help="The question, for the record.")
@select_option
@replay_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session, run: str, event: str, description: str, query: str, replay: ReplayArguments, as_json: bool
) -> int:
    """List hypotheses about what caused decisions, each with its evidence: pieces of the context, tested by replays.

    `whyspan why` tells more about one of them. Exit codes: 0 a cause was found, 1 none.
    """
    with desk_of(session, replay) as desk:
        cases = choose_cases(desk.store, run, event, query, overlays=desk.overlays)
        if not agree(desk, cases, desk.budget.cap, replay):
            return ExitCode.OK
        reports = [asyncio.run(find_cause(desk, case, Options(full=True))) for case in cases]
    claims = [claim for report in reports for claim in report.claims]
    if as_json:
        write_json({"description": description, "hypotheses": [claim.to_json() for claim in claims]})
    else:
        if description:
            click.echo(f"{printable(description)}\n")
        rows = [
            (c.verdict.value, c.detail, f"{c.e_value:.3g}", "{:+.2f}, {:+.2f}".format(*c.interval), c.subject)
            for c in claims
        ]
        write_table(("verdict", "how", "e-value", "effect", "piece of the context"), rows)
    return ExitCode.OK if any(report.headline for report in reports) else ExitCode.FINDING
