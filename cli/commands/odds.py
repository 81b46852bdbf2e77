"""`whyspan odds`."""

import asyncio

import click

from ...analysis.replays import compare
from ...ingest.errors import ExitCode
from ..output import Paint, Session, write_json
from ..replaying import ReplayArguments, agree, desk_of, replay_options
from ..report.replay_text import render_replay


@click.command(epilog="Example: whyspan odds last tool:forward_email -n 50")
@click.argument("run", default="last")
@click.argument("event", default="last")
@click.option("-n", "count", type=click.IntRange(1), default=20, show_default=True, help="Replays.")
@replay_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, run: str, event: str, count: int, replay: ReplayArguments, as_json: bool) -> int:
    """Tell how often the model decides so, with an interval.

    The recorded call is sent again as it was. RUN and EVENT are those of `whyspan why`.

    Exit codes: 0 done, 5 a cap ended it early.
    """
    with desk_of(session, replay, calls=count) as desk:
        case = desk.case(run, event)
        if not agree(desk, [case], count, replay):
            return ExitCode.OK
        report = asyncio.run(compare(desk, case, (), count))
    if as_json:
        write_json(report.to_json())
    else:
        for line in render_replay(report, Paint.stdout(session)):
            click.echo(line)
        click.echo(f"\nnext: {session.command(f'why {run} {event}{replay.words()}')}")
    return ExitCode.OK if report.is_complete else ExitCode.BUDGET
