"""`whyspan export-training-data`."""

import json
from pathlib import Path

import click

from ...ingest.errors import ExitCode
from ..output import Session, write_json


@click.command(epilog="Example: whyspan export-training-data --scenario support --min-score 0.8 --output sft.jsonl")
@click.option("--scenario", required=True, help="Name of the scenario.")
@click.option("--min-score", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="What counts as good.")
@click.option("--format", "form", type=click.Choice(["sft", "dpo"]), default="sft", show_default=True, help="Rows.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE", help="JSONL.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, scenario: str, min_score: float, form: str, output: Path, as_json: bool) -> int:
    """Write good answers (sft), or pairs of a good and a bad answer to one prompt (dpo), to train a model on.

    Exit codes: 0 rows were written, 1 there are none.
    """
    from ...analysis.learning.training import dpo_rows, read_answers, sft_rows

    with session.open_store() as store:
        answers = read_answers(store, scenario)
    rows = list((sft_rows if form == "sft" else dpo_rows)(answers, min_score=min_score))
    output.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    if as_json:
        write_json({"rows": len(rows), "runs": len(answers), "file": str(output)})
    else:
        click.echo(f"{len(rows)} rows from {len(answers)} runs in {output}")
    return ExitCode.OK if rows else ExitCode.FINDING
