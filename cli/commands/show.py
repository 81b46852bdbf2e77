"""`whyspan show`."""

import click

from ...analysis.targets import select
from ...ingest.rebuild import load_calls
from ..output import Paint, Session
from ..report.run_text import render_call, render_run


@click.command(epilog="Example: whyspan show last, then whyspan show last tool:forward_email")
@click.argument("run", default="last")
@click.argument("event", required=False)
@click.pass_obj
def command(session: Session, run: str, event: str | None) -> None:
    """Show one run as a tree, or one decision with its context.

    The tree gives the events to ask about: #N for a model call, tool:NAME for what it called.
    """
    with session.open_store() as store:
        trace_id = store.resolve_run(run)
        calls = load_calls(store, trace_id)
        spans = store.spans(trace_id)
    paint = Paint.stdout(session)
    if event is not None:
        call, _ = select(calls, event)
        for line in render_call(call, paint):
            click.echo(line)
        click.echo(f"\nnext: {session.command(f'why {run} {event}')}")
        return
    click.echo(f"{paint('run', bold=True)}  {trace_id}\n")
    for line in render_run(spans, calls, paint):
        click.echo(line)
    acted = next((c.name for call in reversed(calls) for r in call.replies for c in r.tool_calls), None)
    click.echo(f"\nnext: {session.command(f'why {trace_id[:12]} ' + (f'tool:{acted}' if acted else 'last'))}")
