"""`whyspan diff`."""

from typing import TYPE_CHECKING

import click

from ..output import Paint, Session, write_json

if TYPE_CHECKING:
    from ...analysis.comparison import Comparison


@click.command(epilog="Example: whyspan diff 3fa2b1 9c01d4")
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, left: str, right: str, as_json: bool) -> None:
    """Show where two runs part, and what the one had read there that the other had not.

    Runs are aligned by what their model calls did: the same tools with the same arguments are the same step.
    """
    from ...analysis.comparison import compare_runs
    from ...ingest.rebuild import load_calls
    from ..report.comparison_text import render_comparison

    with session.open_store() as store:
        runs = (store.resolve_run(left), store.resolve_run(right))
        comparison = compare_runs(load_calls(store, runs[0]), load_calls(store, runs[1]))
    parting = comparison.parting
    if as_json:
        write_json({"runs": runs, **_document(comparison)})
        return
    for line in render_comparison(comparison, (runs[0], runs[1]), Paint.stdout(session)):
        click.echo(line)
    if parting:
        click.echo(f"\nnext: {session.command(f'why {runs[0][:12]} span:{parting[0].span_id}')}")


def _document(comparison: "Comparison") -> dict[str, object]:
    context = comparison.context
    return {
        "steps": [
            {
                "a": pair.left.number if pair.left else None,
                "b": pair.right.number if pair.right else None,
                "outcome": next(step.words for step in (pair.left, pair.right) if step),
            }
            for pair in comparison.pairs
        ],
        "parting": [call.span_id for call in comparison.parting] if comparison.parting else None,
        "only_a": [s.text for s in context.only_left] if context else [],
        "only_b": [s.text for s in context.only_right] if context else [],
        "parameters": {name: [a, b] for name, a, b in context.parameters} if context else {},
    }
