"""`whyspan run`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...ingest.errors import ExitCode
from ..learning import RunArguments, run_options, workplace
from ..output import Paint, Session, printable, write_json

if TYPE_CHECKING:
    from ...analysis.learning.lessons.run_report import RunReport


@click.command(epilog="Example: whyspan run --scenario unit_test_generation --gens 3")
@click.option("--scenario", "name", required=True, help="A name below scenarios/, or a folder.")
@click.option("--input-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Inputs to play too.")
@click.option("--gens", type=click.IntRange(1), default=1, show_default=True, help="Generations.")
@click.option(
    "--knowledge-strategy", "strategy", type=click.Choice(["conservative", "aggressive", "none"]),
    default="conservative", show_default=True, help="How easily a lesson is admitted.",
)  # fmt: skip
@run_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session, name: str, input_file: Path | None, gens: int, strategy: str, options: RunArguments, as_json: bool
) -> int:
    """Play a scenario for some generations, and learn from it.

    Lessons are proposed from what goes wrong, measured on other cases with and without them, and served to the next
    generation only when the gate lets them in. A run that was stopped is continued by the same command.

    NAME@BRANCH works on a branch of what the scenario has learned (`whyspan knowledge branch`).

    Exit codes: 0 done, 5 the budget ended.
    """
    from ...analysis.learning.lessons.campaign import Campaign
    from ...analysis.learning.lessons.gate import Strategy
    from ...analysis.learning.lessons.knowledge import knowledge_name, open_knowledge
    from ...analysis.learning.play.bench import open_bench
    from ...analysis.learning.play.forecasts import forecast_run
    from ...analysis.learning.scenarios.scenario import find_scenario, read_cases, read_scenario
    from ..report.learning_text import render_run

    scenario = read_scenario(find_scenario(name))
    known_as = knowledge_name(scenario, name)
    extra = tuple(read_cases(input_file, scenario.input_schema)) if input_file else ()
    with workplace(session, options, as_json=as_json) as place, open_knowledge(known_as) as knowledge:

        async def work() -> "RunReport | None":
            bench = place.bench(scenario)
            async with open_bench(bench):
                if not place.agrees(forecast_run(bench, gens, extra=extra, waiting=len(knowledge.waiting))):
                    return None
                campaign = Campaign(
                    bench=bench, knowledge=knowledge, strategy=Strategy(strategy), extra=extra,
                    tell=lambda words: click.echo(printable(words), err=True),
                )  # fmt: skip
                return await campaign.run(gens)

        report = place.carry_out(work())
        paid = place.budget.spent
    if report is None:
        return ExitCode.OK
    if as_json:
        write_json({**report.to_json(), "paid": paid})
    else:
        for line in render_run(report, Paint.stdout(session), paid=paid):
            click.echo(line)
        click.echo(f"\nnext: {session.command(f'knowledge show --scenario {known_as}')}")
    return ExitCode.OK
