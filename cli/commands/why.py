"""`whyspan why`."""

import asyncio
from typing import TYPE_CHECKING

import click

from ...analysis.attribution.chain import DEPTH, find_chain
from ...analysis.attribution.methods import Method
from ...analysis.attribution.problem import Options
from ...analysis.attribution.result import Stop
from ...analysis.attribution.why import WhyReport
from ...analysis.cases import Case
from ...analysis.desk import Desk
from ...analysis.replay.logprobs import choice_of
from ...ingest.errors import ExitCode, UsageError
from ..output import Paint, Session, write_json
from ..replaying import ReplayArguments, agree, desk_of, replay_options
from ..report.chain_text import next_step
from ..report.why_text import render_why
from ..selecting import choose_cases, select_option, words
from ..writing_back import write_back_claims, writeback_option

if TYPE_CHECKING:
    from ...analysis.attribution.methods.scoring import ScoreReport

_GAVE_UP = frozenset({Stop.NO_CAUSE, Stop.UNRESOLVED})
"""Ends after which a longer search may find more."""


@click.command(epilog="Example: whyspan why last tool:forward_email --base-url http://127.0.0.1:8000/v1")
@click.argument("run", default="last")
@click.argument("event", default="last")
@select_option
@replay_options
@writeback_option
@click.option("--full", is_flag=True, help="Find every cause, not only enough for a headline.")
@click.option("--thorough", is_flag=True, help="Spend more before saying that there is no cause.")
@click.option(
    "--depth", type=click.IntRange(0), default=DEPTH, show_default=True, metavar="N",
    help="Follow the cause up to N calls back, to what started it; 0: not at all.",
)  # fmt: skip
@click.option(
    "--logprobs",
    is_flag=True,
    help="Ask for probabilities instead, one call a removal, where the request forces a choice.",
)
@click.option("--guess", is_flag=True, help="Ask the model once which piece it was, and look there first.")
@click.option(
    "--method",
    type=click.Choice([m.value for m in Method]),
    help="Rank the pieces by another method instead, to compare: scores without an error rate, not kept as claims.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session,
    run: str,
    event: str,
    query: str,
    replay: ReplayArguments,
    writeback: tuple[str, ...],
    full: bool,
    thorough: bool,
    depth: int,
    logprobs: bool,
    guess: bool,
    method: str | None,
    as_json: bool,
) -> int:
    """Find by experiment what caused a decision.

    RUN is `last`, a trace id or its beginning, or a session id. EVENT is tool:NAME, tool:NAME[to~'@evil'], text:/RE/,
    no-tool, finish:REASON, error, py:MODULE:FUNCTION, judge:"QUESTION", last, #N or span:ID. Only the one recorded
    model call is sent again, with pieces of its context removed; the agent and its tools never run.

    With --logprobs one call tells how likely the decision is without a piece, where the request makes the model choose
    (a JSON enum, a grammar, a tool that must be called) and the endpoint gives log-probabilities. Any number of samples
    is drawn from that. What the model does not tell is sampled as always.

    A cause that the run itself brought in is followed back, call by call, to the outside text that started it.

    --method ranks the pieces by leave-one-out (loo), a sparse fit to random removals (contextcite) or the model's own
    word (judge), on the same decision, segments and budget.

    Exit codes: 0 a cause was found, 1 none, 5 the budget ended (the same command goes on, what is known is free).
    """
    if method and (full or thorough or logprobs or guess or writeback):
        raise UsageError(
            "--method gives scores, not claims; --full, --thorough, --logprobs, --guess and --writeback are of no use"
        )
    options = Options(full=full, thorough=thorough)
    with desk_of(session, replay) as desk:
        desk.logprobs = logprobs
        cases = choose_cases(desk.store, run, event, query, overlays=desk.overlays)
        if not agree(desk, cases, desk.budget.cap, replay):
            return ExitCode.OK
        if method:
            return _score(session, desk, cases, Method(method), as_json=as_json, is_one=not query)
        reports = [asyncio.run(find_chain(desk, case, options, depth=depth, ask=guess)) for case in cases]
    if as_json:
        write_json({"reports": [r.to_json() for r in reports]} if query else reports[0].to_json())
    else:
        for line in (line for report in reports for line in (*render_why(report, Paint.stdout(session)), "")):
            click.echo(line)
        decision, given = words(run, event, query), replay.words() + " --logprobs" * logprobs
        asked = (
            f"why {decision}{given}" + " --full" * full + " --guess" * guess + f" --depth {depth}" * (depth != DEPTH)
        )
        has_headline = any(report.headline for report in reports)
        steps = [f"fix {decision}{replay.words()}"] if has_headline else _searches(reports, asked, options, logprobs)
        steps += [next_step(r.chain, decision, depth, given) for r in reports if r.chain]
        for n, step in enumerate(filter(None, dict.fromkeys(steps))):
            click.echo(f"{'  or' if n else 'next'}: {session.command(step)}")
    claims = (claim for report in reports for claim in (report.chain.claims if report.chain else report.claims))
    write_back_claims(session, claims, writeback)
    return max((_exit_code(report) for report in reports), default=ExitCode.FINDING)


def _searches(reports: list[WhyReport], asked: str, options: Options, is_told: bool) -> list[str]:
    """Returns the commands that may find more than `asked` did."""
    if all(report.attribution.stop not in _GAVE_UP for report in reports):
        return []
    longer = [] if options.thorough else [f"{asked} --thorough"]
    is_choice = all(choice_of(report.case.request) for report in reports)
    return longer + [f"{asked} --logprobs"] * (is_choice and not is_told)


def _score(session: Session, desk: Desk, cases: list[Case], method: Method, *, as_json: bool, is_one: bool) -> ExitCode:
    # What fits and shows scores takes a quarter second of CPU to import, and nothing else needs it.
    from ...analysis.attribution.methods.scoring import score_pieces
    from ..report.score_text import render_scores

    reports = [asyncio.run(score_pieces(desk, case, method)) for case in cases]
    if as_json:
        write_json(reports[0].to_json() if is_one else {"reports": [r.to_json() for r in reports]})
    else:
        for line in (line for report in reports for line in (*render_scores(report, Paint.stdout(session)), "")):
            click.echo(line)
    return max((_score_code(report) for report in reports), default=ExitCode.FINDING)


def _score_code(report: "ScoreReport") -> ExitCode:
    if not report.scores.is_complete:
        return ExitCode.BUDGET
    return ExitCode.FINDING if report.scores.named is None else ExitCode.OK


def _exit_code(report: WhyReport) -> ExitCode:
    if report.headline:
        return ExitCode.OK
    return ExitCode.BUDGET if report.attribution.stop is Stop.BUDGET else ExitCode.FINDING
