"""`whyspan knowledge`."""

from collections.abc import Callable
from typing import Any

import click

from ...ingest.errors import ExitCode, UsageError
from ..learning import RunArguments, run_options, workplace
from ..output import Paint, Session, printable, write_json

scenario_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--scenario", "name", required=True, help="Name of the scenario."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def command() -> None:
    """Look after what scenarios have learned: knowledge/<scenario>/playbook.yaml."""


@command.command(epilog="Example: whyspan knowledge show --scenario unit_test_generation")
@scenario_option
@json_option
@click.pass_obj
def show(session: Session, name: str, as_json: bool) -> None:
    """Show the lessons and their evidence."""
    from ...analysis.learning.lessons.knowledge import open_knowledge
    from ..report.learning_text import render_items

    with open_knowledge(name) as knowledge:
        items = knowledge.playbook.items
    if as_json:
        write_json(
            {"lessons": [{"id": i.id, "status": i.status, "lesson": i.lesson.text, **i.evidence} for i in items]}
        )
        return
    for line in render_items(items, Paint.stdout(session)):
        click.echo(line)
    if not items:
        click.echo(f"nothing learned yet\n\nnext: {session.command(f'run --scenario {name} --gens 3')}")


@command.command(epilog="Example: whyspan knowledge propose --scenario support --claim 9f2c1b")
@scenario_option
@click.option("--rule", default="", metavar="TEXT", help="A rule of your own.")
@click.option("--claim", default="", metavar="ID", help="A rule that `whyspan fix` has proved on one case.")
@json_option
@click.pass_obj
def propose(session: Session, name: str, rule: str, claim: str, as_json: bool) -> None:
    """Put a rule on the list of those that the next run tests; what holds on one case is no lesson yet."""
    from ...analysis.learning.lessons.knowledge import open_knowledge

    if bool(rule) == bool(claim):
        raise UsageError("give either --rule or --claim")
    with open_knowledge(name) as knowledge:
        if claim:
            with session.open_store() as store:
                item = knowledge.propose_fix(store, claim)
        else:
            item = knowledge.propose_rule(rule)
    if as_json:
        write_json({"id": item.id, "status": item.status, "lesson": item.lesson.text})
    else:
        click.echo(f"{item.id}  {item.status.value}  {printable(item.lesson.text)}")


@command.command()
@scenario_option
@json_option
def audit(name: str, as_json: bool) -> int:
    """Check that the tests on record bear out what the playbook states.

    Exit codes: 0 they do, 1 they do not.
    """
    from ...analysis.learning.lessons.knowledge import open_knowledge

    with open_knowledge(name) as knowledge:
        wrong = list(knowledge.audit())
    if as_json:
        write_json({"wrong": wrong})
    else:
        for line in wrong or ["the tests on record bear out the playbook"]:
            click.echo(printable(line))
    return ExitCode.FINDING if wrong else ExitCode.OK


@command.command()
@scenario_option
@click.option("--with", "other", default="", metavar="NAME", help="Compare with this branch, or scenario, instead.")
@json_option
def diff(name: str, other: str, as_json: bool) -> None:
    """Show what the lessons in force added to those before, and removed."""
    from ...analysis.learning.lessons.knowledge import open_knowledge
    from ...analysis.learning.lessons.shelf import changes

    with open_knowledge(name) as knowledge:
        shelf = knowledge.shelf
        before = shelf.before
    if other:
        with open_knowledge(other) as compared:
            before = compared.shelf.lessons
    lines = list(changes(before, shelf.lessons))
    if as_json:
        write_json({"changes": lines})
        return
    for line in lines or ["no change"]:
        click.echo(printable(line))


@command.command()
@scenario_option
@json_option
def rollback(name: str, as_json: bool) -> None:
    """Serve the lessons that were in force before."""
    from ...analysis.learning.lessons.knowledge import open_knowledge

    with open_knowledge(name) as knowledge:
        demoted = knowledge.roll_back()
    _tell("demoted", demoted, as_json)


@command.command(epilog="Example: whyspan knowledge branch --scenario support --name bold")
@scenario_option
@click.option("--name", "branch", default="", metavar="BRANCH", help="Make this branch; without it, list them.")
@json_option
@click.pass_obj
def branch(session: Session, name: str, branch: str, as_json: bool) -> None:
    """Copy what a scenario has learned, to go on from there in another way; what is in force stays as it is.

    A branch is named SCENARIO@BRANCH wherever a scenario is: `run`, and every command here.
    """
    from ...analysis.learning.lessons.knowledge import branches, make_branch

    if branch:
        made = make_branch(name, branch)
    rows = [made] if branch else branches(name)
    if as_json:
        write_json({"branches": rows})
        return
    for row in rows or ["there is no branch"]:
        click.echo(row)
    if branch:
        click.echo(f"\nnext: {session.command(f'run --scenario {made} --knowledge-strategy aggressive')}")


@command.command()
@scenario_option
@json_option
def prune(name: str, as_json: bool) -> None:
    """Take lessons that failed or were demoted out of the file; they stay on record and are not tried again."""
    from ...analysis.learning.lessons.knowledge import open_knowledge

    with open_knowledge(name) as knowledge:
        removed = knowledge.prune()
    _tell("removed", removed, as_json)


@command.command(epilog="Example: whyspan knowledge retest --scenario unit_test_generation --pairs 20")
@scenario_option
@click.option(
    "--pairs", type=click.IntRange(1), default=20, show_default=True, help="Cases to ask in both ways, in all."
)
@run_options
@json_option
@click.pass_obj
def retest(session: Session, name: str, pairs: int, options: RunArguments, as_json: bool) -> int:
    """Test lessons in force again, on fresh samples; what does harm is demoted.

    Exit codes: 0 all stand, 1 one was demoted, 5 the budget ended.
    """
    from ...analysis.learning.lessons.gate import Strategy
    from ...analysis.learning.lessons.knowledge import knowledge_name, open_knowledge
    from ...analysis.learning.lessons.playbook import Status
    from ...analysis.learning.lessons.retesting import Retest, retest
    from ...analysis.learning.play.bench import open_bench
    from ...analysis.learning.play.forecasts import forecast_plays
    from ...analysis.learning.scenarios.scenario import find_scenario, read_scenario

    scenario = read_scenario(find_scenario(name))
    if not scenario.confirming:
        raise UsageError(f"{name} has no cases to test on")
    known_as, cases = knowledge_name(scenario, name), scenario.confirming[:pairs]
    with workplace(session, options, as_json=as_json) as place, open_knowledge(known_as) as knowledge:

        async def work() -> list[Retest] | None:
            bench = place.bench(scenario)
            async with open_bench(bench):
                if not place.agrees(forecast_plays(bench, "pairs", cases, 2 * scenario.samples)):
                    return None
                return await retest(bench, knowledge, Strategy.CONSERVATIVE, budget=pairs)

        results = place.carry_out(work())
    if results is None:
        return ExitCode.OK
    rows = [{"id": r.item.id, "status": r.status.value, "effect": r.finding.measured.effect} for r in results]
    if as_json:
        write_json({"lessons": rows})
    else:
        for row in rows:
            click.echo(f"{row['id']}  {row['status']}  effect {row['effect']:+.2f}")
        if not rows:
            click.echo("no lesson is in force")
    return ExitCode.FINDING if any(r.status is not Status.ACTIVE for r in results) else ExitCode.OK


def _tell(word: str, names: list[str], as_json: bool) -> None:
    if as_json:
        write_json({word: names})
    else:
        click.echo(f"{word}: {', '.join(names) or 'nothing'}")
