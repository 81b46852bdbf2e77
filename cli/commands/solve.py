"""`whyspan solve`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...ingest.errors import ExitCode, UsageError
from ..learning import RunArguments, run_options, workplace
from ..output import Session, printable, write_json

if TYPE_CHECKING:
    from ...analysis.learning.play.plays import Play


@click.command(epilog='Example: whyspan solve -d "Name three colours." --rubric "three colours" --model-fn model.py:f')
@click.option("--description", "-d", required=True, help="The task.")
@click.option("--gens", type=click.IntRange(1), default=2, show_default=True, help="Attempts at most.")
@click.option("--rubric", default="", help="What a good answer is; the model itself judges.")
@click.option("--predicate", default="", help="`always EVENT` or `never EVENT`: always text:/RE/.")
@click.option("--provider", default="", help="A provider by name, when neither --model-fn nor --base-url is given.")
@click.option("--model", default="", help="The model to ask.")
@run_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session,
    description: str,
    gens: int,
    rubric: str,
    predicate: str,
    provider: str,
    model: str,
    options: RunArguments,
    as_json: bool,
) -> int:
    """Work on one task, each attempt told what was wrong with the one before; prints the best answer.

    Exit codes: 0 an attempt scored more than 0.99, 1 none did, 5 the budget ended.
    """
    from ...analysis.learning.play.players import Player
    from ...analysis.learning.solving import GOOD_ENOUGH, inline_scenario, solve

    if bool(rubric) == bool(predicate):
        raise UsageError("give --rubric or --predicate: without one nobody can say what is good")
    if not (options.model_fn or options.base_url or provider):
        raise UsageError("which model?", hint="--model-fn FILE:FUNCTION, --base-url URL or --provider NAME")
    player = Player(provider=provider or "openai", model=model or options.model_fn, folder=Path.cwd())
    scenario = inline_scenario(description, player, rubric=rubric, predicate=predicate)
    with workplace(session, options, as_json=as_json) as place:
        bench = place.bench(scenario)
        plays = place.carry_out(solve(bench, gens, agrees=place.agrees))
    if not plays:
        return ExitCode.OK
    best: Play = max(plays, key=lambda play: play.score.score)
    if as_json:
        write_json(
            {
                "score": best.score.score,
                "output": best.text,
                "attempts": [{"run_id": p.trace_id, "score": p.score.score} for p in plays],
            }
        )
    else:
        click.echo(printable(best.text))
        click.echo(f"\nscore {best.score.score:.2f} after {len(plays)} attempts", err=True)
    return ExitCode.OK if best.score.score > GOOD_ENOUGH else ExitCode.FINDING
