"""`whyspan simulate`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...ingest.errors import ExitCode
from ..learning import RunArguments, run_options, workplace
from ..output import Session, write_json, write_table

if TYPE_CHECKING:
    from ...analysis.learning.sweep import Cell


@click.command(epilog="Example: whyspan simulate --config sweep.yaml --output-dir out/")
@click.option(
    "--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True, metavar="FILE",
    help="The sweep: scenario, variables, runs_per_combo.",
)  # fmt: skip
@click.option(
    "--output-dir", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write results too."
)
@click.option("--max-concurrent-runs", type=click.IntRange(1), metavar="N", help="The same as --concurrency.")
@click.option("--race", is_flag=True, help="Stop combinations that are beaten.")
@run_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session,
    config: Path,
    output_dir: Path | None,
    max_concurrent_runs: int | None,
    race: bool,
    options: RunArguments,
    as_json: bool,
) -> int:
    """Play every combination of some variables, and compare their scores.

    A sweep that was stopped goes on with the same command. Exit codes: 0 done, 4 a combination only crashed, 5 the
    budget ended.
    """
    from ...analysis.learning.sweep import read_sweep, simulate, summary

    sweep = read_sweep(config)
    if max_concurrent_runs:
        options = replace(options, concurrency=max_concurrent_runs)
    with workplace(session, options, as_json=as_json) as place:
        bench = place.bench(sweep.scenario)
        cells = place.carry_out(simulate(bench, sweep, race=race, agrees=place.agrees))
    if not cells:
        return ExitCode.OK
    result = summary(sweep, cells)
    if output_dir:
        _write(output_dir, result, cells)
    if as_json:
        write_json(result)
    else:
        rows = [
            (
                json.dumps(c["variables"]),
                _mean(c["mean"]),
                "[{:.2f}, {:.2f}]".format(*c["interval"]),
                c["n"],
                c["errors"],
            )
            for c in result["combinations"]
        ]
        write_table(("variables", "mean", "interval", "n", "errors"), rows)
        click.echo(f"\nnext: {session.command(f'analyze --id {sweep.id} --type simulation')}")
    return ExitCode.UPSTREAM if any(cell.errors and not cell.plays for cell in cells) else ExitCode.OK


def _mean(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _write(folder: Path, result: dict[str, object], cells: "list[Cell]") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    lines = [
        json.dumps({"run_id": p.trace_id, "variables": c.variables, "score": p.score.score, "metrics": p.score.metrics})
        for c in cells
        for p in c.plays
    ]
    (folder / "runs.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
