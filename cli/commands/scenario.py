"""`whyspan scenario`."""

from pathlib import Path

import click

from ...ingest.errors import UsageError
from ..output import Session, write_json, write_table


@click.group()
def command() -> None:
    """Make and list scenarios: cases, and what scores an output."""


@command.command(epilog="Example: whyspan scenario new --template agent_task --name unit_test_generation")
@click.option("--template", default="", metavar="NAME", help="One of the shipped ones; a wrong name lists them.")
@click.option("--from", "source", nargs=2, metavar="RUN EVENT", help="A decision of a trace.")
@click.option(
    "--family", type=click.Choice(["tool_fragility", "schema_evolution", "operator_loop"]),
    help="With --from: variants of a decision that was right. Without it, it must not come again.",
)  # fmt: skip
@click.option("--name", required=True, help="Name of the scenario.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def new(
    session: Session, template: str, source: tuple[str, str] | None, family: str | None, name: str, as_json: bool
) -> None:
    """Make a scenario from a template, from a bad decision and its guard cases, or from variants of a good one.

    Templates: agent_task (unit tests that run), support_reply (a judge with a rubric), negotiation and coordination
    (played turn by turn), investigation (planted causes, which `why` must find). Families of variants: tool_fragility
    (results of tools in another form, or failed), schema_evolution (the tool described otherwise), operator_loop
    (somebody steps in).
    """
    from ...analysis.learning.scenarios.creation import copy_template
    from ...analysis.learning.scenarios.scenario import read_scenario

    if bool(template) == bool(source):
        raise UsageError("give either --template or --from", hint="--template agent_task needs nothing else")
    if family and template:
        raise UsageError("--family goes with --from", hint="templates have a family of their own")
    run, event = source or ("", "")
    folder = copy_template(template, name) if template else _from_decision(session, name, run, event, family)
    scenario = read_scenario(folder)
    if as_json:
        write_json({"scenario": name, "folder": str(folder), "cases": len(scenario.cases)})
        return
    click.echo(
        f"{folder}: {len(scenario.explored)} cases to find lessons on, {len(scenario.confirming)} to test them on, "
        f"{len(scenario.heldout)} held out"
    )
    sweep = folder / "sweep.yaml"
    following = f"simulate --config {sweep}" if sweep.exists() else f"run --scenario {name} --gens 3"
    click.echo(f"\nnext: {session.command(following)}")


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_scenarios(as_json: bool) -> None:
    """List the scenarios in this folder."""
    from ...analysis.learning.scenarios.scenario import SCENARIOS, read_scenario

    found = [read_scenario(path.parent) for path in sorted(SCENARIOS.glob("*/scenario.yaml"))]
    rows = [{"scenario": s.name, "family": s.family, "cases": len(s.cases), "about": s.description} for s in found]
    if as_json:
        write_json({"scenarios": rows})
    else:
        write_table(("scenario", "family", "cases", "about"), [tuple(row.values()) for row in rows])


def _from_decision(session: Session, name: str, run: str, event: str, family: str | None) -> Path:
    from ...analysis.cases import freeze
    from ...analysis.desk import Desk
    from ...analysis.fixes.guards import find_guards
    from ...analysis.learning.scenarios.creation import write_decision_scenario, write_variant_scenario
    from ...analysis.replay.budget import Budget
    from ...analysis.replay.models import ModelChoice
    from ...analysis.targets import select

    with session.open_store() as store:
        desk = Desk(store=store, model=ModelChoice(), budget=Budget(0))
        case = freeze(*select(desk.calls(run), event))
        if family:
            return write_variant_scenario(name, case, family)
        guards = find_guards(desk, case, ())
    return write_decision_scenario(name, case, guards)
