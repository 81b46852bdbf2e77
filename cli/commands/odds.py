"""`whyspan odds`."""

import asyncio

import click

from ...analysis.cases import Case
from ...analysis.desk import Desk
from ...analysis.replay.logprobs import Odds, forced_odds
from ...analysis.replays import compare
from ...ingest.errors import ExitCode
from ..output import Paint, Session, printable, write_json, write_table
from ..replaying import ReplayArguments, agree, desk_of, replay_options
from ..report.replay_text import render_replay
from ..selecting import words


@click.command(epilog="Example: whyspan odds last tool:forward_email -n 50")
@click.argument("run", default="last")
@click.argument("event", default="last")
@click.option("-n", "count", type=click.IntRange(1), default=20, show_default=True, help="Replays.")
@click.option("--logprobs", is_flag=True, help="Ask for probabilities instead, where the request forces a choice.")
@replay_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session, run: str, event: str, count: int, logprobs: bool, replay: ReplayArguments, as_json: bool
) -> int:
    """Tell how often the model decides so, with an interval.

    The recorded call is sent again as it was. RUN and EVENT are those of `whyspan why`. With --logprobs one or two
    calls are enough where the request makes the model choose (a JSON enum, a grammar, a tool that must be called) and
    the endpoint gives log-probabilities; otherwise it is sampled.

    Exit codes: 0 done, 5 a cap ended it early.
    """
    with desk_of(session, replay, calls=count) as desk:
        case = desk.case(run, event)
        if not agree(desk, [case], count, replay):
            return ExitCode.OK
        odds = asyncio.run(_odds(desk, case)) if logprobs else None
        report = None if odds else asyncio.run(compare(desk, case, (), count))
    if odds:
        _tell_odds(odds, case, as_json)
        return ExitCode.OK
    assert report is not None  # it was sampled
    if as_json:
        write_json(report.to_json())
    else:
        for line in render_replay(report, Paint.stdout(session)):
            click.echo(line)
        click.echo(f"\nnext: {session.command('why ' + words(run, event) + replay.words())}")
    return ExitCode.OK if report.is_complete else ExitCode.BUDGET


async def _odds(desk: Desk, case: Case) -> Odds | None:
    async with desk.engine(case) as engine:
        odds = await forced_odds(engine, case)
    if odds is None:
        desk.warn("there are no usable log-probabilities for this decision, so it is sampled")
    return odds


def _tell_odds(odds: Odds, case: Case, as_json: bool) -> None:
    if as_json:
        fields = {"probability": odds.probability, "options": dict(odds.options), "calls": odds.calls}
        write_json({"case_id": case.id, "target": case.target.spec, **fields})
        return
    click.echo(f"{printable(case.target.label)}: probability {odds.probability:.3f}, from {odds.calls} calls")
    write_table(("option", "probability"), [(o, f"{p:.3f}") for o, p in odds.options.items()])
