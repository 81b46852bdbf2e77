"""`whyspan mission`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...ingest.errors import ExitCode, UsageError
from ..learning import RunArguments, run_options, workplace
from ..output import Session, printable, shorten, write_json
from ..tables import write_records

if TYPE_CHECKING:
    from ...analysis.learning.missions.report import MissionReport, StepResult

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def command() -> None:
    """Carry out long work in steps, each checked by a verifier; what has passed is never done again."""


@command.command(epilog="Example: whyspan mission run --mission-file mission.yaml")
@click.option(
    "--mission-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True, metavar="FILE",
    help="The mission.",
)  # fmt: skip
@run_options
@json_option
@click.pass_obj
def run(session: Session, mission_file: Path, options: RunArguments, as_json: bool) -> int:
    """Start a mission, or go on with it.

    Exit codes: 0 done, 1 a step's verifier refused its output, 5 the budget ended.
    """
    return _carry_out(session, options, mission_file, {}, as_json)


@command.command()
@click.argument("name")
@run_options
@json_option
@click.pass_obj
def resume(session: Session, name: str, options: RunArguments, as_json: bool) -> int:
    """Go on with a mission that has stopped."""
    return _carry_out(session, options, _file(session, name), {}, as_json)


@command.command(epilog='Example: whyspan mission retry release_notes write --hint "name the version"')
@click.argument("name")
@click.argument("step")
@click.option("--hint", required=True, help="What the step's next attempt is told.")
@run_options
@json_option
@click.pass_obj
def retry(session: Session, name: str, step: str, hint: str, options: RunArguments, as_json: bool) -> int:
    """Do a step again with a hint, and what depends on it."""
    return _carry_out(session, options, _file(session, name), {step: hint}, as_json)


@command.command()
@click.argument("name", required=False)
@json_option
@click.pass_obj
def status(session: Session, name: str | None, as_json: bool) -> None:
    """Show how missions stand."""
    from ...ingest.store.querying import run_query

    with session.open_store() as store:
        records = run_query(store, "SELECT * FROM missions ORDER BY ended DESC").records()
    shown = [r for r in records if name in (None, r["mission"])]
    if as_json:
        write_json({"missions": shown})
    else:
        write_records(("mission", "status", "passed", "steps", "ended", "note"), shown)


def _file(session: Session, name: str) -> Path:
    from ...analysis.learning.missions.trace import file_of

    with session.open_store() as store:
        return file_of(store, name)


def _carry_out(session: Session, options: RunArguments, path: Path, hints: dict[str, str], as_json: bool) -> int:
    from ...analysis.learning.missions.mission import read_mission
    from ...analysis.learning.missions.run import MissionRun
    from ...analysis.learning.missions.trace import trace_of
    from ...ingest.store.durable import try_lock

    mission = read_mission(path)
    for step in hints:
        mission.step(step)
    with (
        workplace(session, options, as_json=as_json) as place,
        try_lock(place.store.path / f"mission-{trace_of(mission.name)}.lock") as got,
    ):
        if not got:
            raise UsageError(f"another process works on the mission {mission.name!r}", hint="wait for it to end")
        run = MissionRun(
            mission=mission, store=place.store, budget=place.budget, choice=place.choice, prices=place.prices,
            hints=hints, tell=_tell,
        )  # fmt: skip
        report = place.carry_out(run.run(agrees=place.agrees))
    if report is None:
        return ExitCode.OK
    if as_json:
        write_json(report.to_json())
    else:
        _render(session, report)
    return ExitCode.OK if report.is_done else ExitCode.FINDING


def _tell(result: "StepResult") -> None:
    words = f"{result.step.id}: {result.status.value}{' before' if result.resumed else ''}"
    click.echo(printable(f"{words}  {shorten(result.message, 100)}".rstrip()), err=True)


def _render(session: Session, report: "MissionReport") -> None:
    for result in report.steps:
        click.echo(printable(f"{result.step.id:<20} {result.status.value:<8} {shorten(result.output, 90)}"))
    failed = next((r.step.id for r in report.steps if r.status.value == "failed"), None)
    if failed:
        name = report.mission
        click.echo(f"\nnext: {session.command(f'mission retry {name} {failed} --hint TEXT')}")
        click.echo(f"or edit the mission file, then: {session.command(f'mission resume {name}')}")
