"""`whyspan export`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from ..output import Session, write_json


@click.group()
def command() -> None:
    """Render what the store holds for other places."""


@command.command(epilog="Example: whyspan export ci last --out whyspan-report")
@click.argument("run", required=False)
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The folder to write to.")
@click.option("--prompt", default="", metavar="FILE", help="The agent's prompt file, for SARIF to point at.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def ci(session: Session, run: str | None, out: Path, prompt: str, as_json: bool) -> None:
    """Write the claims about a run, or all of them, as artefacts of a CI run.

    They are summary.md, junit.xml (a case a fix), claims.json, report.html and whyspan.sarif.
    `pytest --whyspan-report DIR` writes the same for regression tests.
    """
    from ..report.ci.artefacts import write_artefacts
    from ..report.ci.results import CiResults
    from ..report.ci.store_claims import read_claims

    with session.open_store() as store:
        trace_id = store.resolve_run(run) if run else None
        claims = read_claims(store, trace_id)
    results = CiResults(
        title=f"Claims about run {trace_id[:12]}" if trace_id else "Claims",
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        claims=claims,
        prompt_path=prompt,
    )
    written = write_artefacts(out, results)
    if as_json:
        write_json({"claims": len(claims), "files": [str(path) for path in written]})
        return
    click.echo(f"{len(claims)} claims")
    for path in written:
        click.echo(f"  {path}")
    click.echo(f"\nnext: whyspan ci comment {out}")


@command.command(epilog="Example: whyspan export trace last --jsonl | jq 'select(.type == \"llm_call\")'")
@click.argument("run", default="last")
@click.option("--jsonl", is_flag=True, expose_value=False, help="One JSON object a line: the only form so far.")
@click.pass_obj
def trace(session: Session, run: str) -> None:
    """Print a run as flat JSON lines, a span each.

    RUN is `last`, a trace id or its beginning, or a session id; a mission or learning run by its whole trace id.
    """
    import json

    from ...analysis.learning.flat_records import flat_records

    with session.open_store() as store:
        trace_id = run if len(run) == 32 else store.resolve_run(run)
        for record in flat_records(store, trace_id):
            click.echo(json.dumps(record, ensure_ascii=False, default=str))
