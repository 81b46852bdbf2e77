"""`whyspan analyze`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...ingest.errors import NotFoundError, UsageError
from ..output import Session, write_json
from ..tables import write_result

if TYPE_CHECKING:
    from ...ingest.store import Store
    from ...ingest.store.querying import Result

_CELLS = (
    "SELECT variables, count(*) AS runs, avg(score) AS mean_score, stddev(score) AS deviation, "
    "sum(cost_usd) AS cost_usd FROM runs WHERE starts_with(parent_simulation_id, $id) "
    "GROUP BY variables ORDER BY mean_score DESC"
)
SECTIONS = {
    "simulation": {"Combinations": _CELLS},
    "run": {
        "Run": "SELECT * FROM runs WHERE starts_with(run_id, $id)",
        "Lessons measured": "SELECT lesson, decision, effect, interval_low, interval_high, e_value, pairs, heldout "
        "FROM knowledge WHERE starts_with(trace_id, $id) ORDER BY number",
        "Steps": "SELECT name, started, duration_ms, error FROM spans WHERE starts_with(trace_id, $id) "
        "ORDER BY started",
    },
    "mission": {
        "Mission": "SELECT * FROM missions WHERE starts_with(trace_id, $id) OR mission = $id",
        "Steps": "SELECT name, started, duration_ms, status FROM spans WHERE trace_id = (SELECT min(trace_id) "
        "FROM missions WHERE starts_with(trace_id, $id) OR mission = $id) ORDER BY started",
    },
}
"""Kind → title of a table → its query."""


@click.command(epilog="Example: whyspan analyze --id 3fa2b1 --type simulation --format html --output report.html")
@click.option("--id", "id_", default="", metavar="ID", help="A simulation, run or mission; the beginning is enough.")
@click.option("--type", "kind", type=click.Choice(list(SECTIONS)), default="run", show_default=True, help="What ID is.")
@click.option("--format", "form", type=click.Choice(["text", "json", "html"]), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where the page goes.")
@click.option("--custom-query", default="", metavar="SQL", help="Run a query instead.")
@click.option("--compare-run-ids", nargs=2, metavar="A B", help="Compare two runs instead.")
@click.option("--diff-type", type=click.Choice(["full", "scores"]), default="full", show_default=True)
@click.pass_context
def command(
    ctx: click.Context,
    id_: str,
    kind: str,
    form: str,
    output: Path | None,
    custom_query: str,
    compare_run_ids: tuple[str, str] | None,
    diff_type: str,
) -> None:
    """Show a simulation, a run or a mission; or compare two runs."""
    session: Session = ctx.obj
    if sum(map(bool, (id_, custom_query, compare_run_ids))) != 1:
        raise UsageError("give one of --id, --custom-query and --compare-run-ids")
    if compare_run_ids and diff_type == "full":
        from .diff import command as diff

        ctx.invoke(diff, left=compare_run_ids[0], right=compare_run_ids[1], as_json=form == "json")
        return
    with session.open_store() as store:
        sections = _sections(store, id_, kind, custom_query, compare_run_ids)
    _write(sections, form, output, title=f"{kind} {id_}" if id_ else "Query" if custom_query else "Scores of two runs")


def _sections(store: "Store", id_: str, kind: str, query: str, runs: tuple[str, str] | None) -> "dict[str, Result]":
    from ...ingest.store.querying import run_query

    if query:
        return {"Query": run_query(store, query)}
    if runs:
        ids = {"a": store.resolve_run(runs[0]), "b": store.resolve_run(runs[1])}
        wanted = "SELECT name, trace_id = $b AS is_b, value, label, explanation FROM scores WHERE trace_id IN ($a, $b)"
        return {"Scores": run_query(store, f"{wanted} ORDER BY name, is_b", ids)}
    found = {title: run_query(store, sql, {"id": id_}) for title, sql in SECTIONS[kind].items()}
    if not any(result.rows for result in found.values()):
        raise NotFoundError(f"there is no {kind} {id_!r}", hint="whyspan runs, whyspan mission status")
    return {title: result for title, result in found.items() if result.rows}


def _write(sections: "dict[str, Result]", form: str, output: Path | None, *, title: str) -> None:
    if form == "json":
        write_json({title: result.records() for title, result in sections.items()})
        return
    if form == "html":
        from ..report.html import render_page

        path = output or Path("analysis.html")
        path.write_text(render_page("analysis.html.j2", {"title": title, "sections": sections}), "utf-8")
        click.echo(f"{path}")
        return
    for heading, result in sections.items():
        click.echo(f"{heading}\n")
        write_result(result, None)
        click.echo("")
