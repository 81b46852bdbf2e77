"""`whyspan investigate`."""

import asyncio

import click

from ...analysis.attribution.problem import Options
from ...analysis.claims import Claim
from ...analysis.investigation.investigate import investigate
from ...ingest.errors import ExitCode
from ..output import Paint, Session, printable, write_json, write_table
from ..replaying import ReplayArguments, agree, desk_of, replay_options
from ..report.investigation_text import render_common
from ..selecting import choose_cases, select_option


@click.command(
    epilog='Example: whyspan investigate -d "who makes it forward mail?" '
    "--select \"list_contains(tool_names, 'forward_email')\""
)
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
    """List hypotheses about what caused decisions, each with its evidence, and what several decisions have in common.

    One decision is searched for every cause. Of several (--select) each is explained as `whyspan why` does it, and
    what was paid for before is free; then the evidence about each text, and each place such as the results of one
    tool, is pooled over the decisions that hold it. A text or place with enough of it is a cause in some of them, and
    kept as a claim of scope `population`.

    Exit codes: 0 a cause was found, 1 none.
    """
    with desk_of(session, replay) as desk:
        cases = choose_cases(desk.store, run, event, query, overlays=desk.overlays)
        if not agree(desk, cases, desk.budget.cap, replay):
            return ExitCode.OK
        found = asyncio.run(investigate(desk, cases, Options(full=not query)))
    if as_json:
        write_json({"description": description, **found.to_json()})
    else:
        if description:
            click.echo(f"{printable(description)}\n")
        write_table(("verdict", "how", "e-value", "effect", "piece of the context"), map(_row, found.claims))
        for line in ("", *render_common(found, Paint.stdout(session))) if len(found.reports) > 1 else ():
            click.echo(line)
    return ExitCode.OK if any(report.headline for report in found.reports) else ExitCode.FINDING


def _row(claim: Claim) -> tuple[str, ...]:
    effect = "{:+.2f}, {:+.2f}".format(*claim.interval)
    return claim.verdict.value, claim.detail, f"{claim.e_value:.3g}", effect, claim.subject
