"""`whyspan odds`."""

import asyncio
from collections.abc import Sequence
from typing import Any

import click

from ...analysis.cases import Case
from ...analysis.desk import Desk
from ...analysis.replay.logprobs import Odds, forced_odds
from ...analysis.replays import ReplayReport, compare
from ...ingest.errors import ExitCode
from ..output import Paint, Session, printable, write_json, write_table
from ..replaying import ReplayArguments, agree, allow, desk_of, replay_options
from ..report.replay_text import render_replay
from ..selecting import choose_cases, select_option, words


@click.command(epilog="Example: whyspan odds last tool:forward_email -n 50")
@click.argument("run", default="last")
@click.argument("event", default="last")
@select_option
@click.option("-n", "count", type=click.IntRange(1), default=20, show_default=True, help="Replays of each.")
@click.option("--logprobs", is_flag=True, help="Ask for probabilities instead, where the request forces a choice.")
@replay_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session,
    run: str,
    event: str,
    query: str,
    count: int,
    logprobs: bool,
    replay: ReplayArguments,
    as_json: bool,
) -> int:
    """Tell how often the model decides so, with an interval.

    The recorded call is sent again as it was. RUN and EVENT are those of `whyspan why`. With --logprobs one or two
    calls are enough where the request makes the model choose (a JSON enum, a grammar, a tool that must be called) and
    the endpoint gives log-probabilities; otherwise it is sampled.

    Exit codes: 0 done, 5 a cap ended it early.
    """
    with desk_of(session, replay) as desk:
        cases = choose_cases(desk.store, run, event, query, overlays=desk.overlays)
        allow(desk, replay, count * len(cases))
        if not agree(desk, cases, count, replay):
            return ExitCode.OK
        answers = [(case, asyncio.run(_measure(desk, case, count, logprobs=logprobs))) for case in cases]
    if as_json:
        documents = [_document(case, answer) for case, answer in answers]
        write_json({"reports": documents} if query else documents[0])
    else:
        for case, answer in answers:
            _tell(case, answer, Paint.stdout(session))
        if any(isinstance(answer, ReplayReport) for _, answer in answers):
            click.echo(f"next: {session.command('why ' + words(run, event, query) + replay.words())}")
    return _exit_code([answer for _, answer in answers])


async def _measure(desk: Desk, case: Case, count: int, *, logprobs: bool) -> Odds | ReplayReport:
    if logprobs:
        async with desk.engine(case) as engine:
            odds = await forced_odds(engine, case)
        if odds is not None:
            return odds
        desk.warn("there are no usable log-probabilities for this decision, so it is sampled")
    return await compare(desk, case, (), count)


def _document(case: Case, answer: Odds | ReplayReport) -> dict[str, Any]:
    if isinstance(answer, ReplayReport):
        return answer.to_json()
    fields = {"probability": answer.probability, "options": dict(answer.options), "calls": answer.calls}
    return {"case_id": case.id, "target": case.target.spec, **fields}


def _tell(case: Case, answer: Odds | ReplayReport, paint: Paint) -> None:
    if isinstance(answer, ReplayReport):
        for line in (*render_replay(answer, paint), ""):
            click.echo(line)
        return
    click.echo(f"{printable(case.target.label)}: probability {answer.probability:.3f}, from {answer.calls} calls")
    write_table(("option", "probability"), [(o, f"{p:.3f}") for o, p in answer.options.items()])


def _exit_code(answers: Sequence[Odds | ReplayReport]) -> ExitCode:
    is_cut_short = any(isinstance(answer, ReplayReport) and not answer.is_complete for answer in answers)
    return ExitCode.BUDGET if is_cut_short else ExitCode.OK
