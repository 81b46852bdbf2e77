"""`whyspan show`."""

import shlex
from dataclasses import asdict

import click

from ...analysis.links import links_to, load_links
from ...analysis.targets import select
from ...analysis.waterfall import build_waterfall, marks_of
from ...ingest.rebuild import load_run
from ..output import Paint, Session, write_json
from ..report.run_text import render_call, render_run


@click.command(epilog="Example: whyspan show last, then whyspan show last tool:forward_email")
@click.argument("run", default="last")
@click.argument("event", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(session: Session, run: str, event: str | None, as_json: bool) -> None:
    """Show one run in time, or one decision with its context and what is known to have caused it.

    The waterfall gives the events to ask about: #N for a model call, tool:NAME for what it called. Claims stand below
    the decision they are about.
    """
    with session.open_store() as store:
        traces = store.resolve_traces(run)
        calls = load_run(store, run)
        spans = [span for trace_id in traces for span in store.spans(trace_id)]
    trace_id = traces[-1]
    paint = Paint.stdout(session)
    if event is not None:
        call, _ = select(calls, event)
        marks = marks_of(spans).get(call.span_id, ())
        links = links_to(next(s for s in spans if s.span_id == call.span_id), load_links())
        if as_json:
            write_json({**call.to_json(), "claims": [asdict(mark) for mark in marks], "links": links})
            return
        for line in render_call(call, marks, paint):
            click.echo(line)
        for name, link in links.items():
            click.echo(f"in {name}: {paint(link)}")
        click.echo(f"\nnext: {session.command(f'why {run} {shlex.quote(event)}')}")
        return
    waterfall = build_waterfall(spans, calls)
    if as_json:
        write_json({"run_id": trace_id, **asdict(waterfall)})
        return
    click.echo(f"{paint('run', bold=True)}  {trace_id}  ", nl=False)
    for line in render_run(waterfall, paint):
        click.echo(line)
    acted = next((c.name for call in reversed(calls) for r in call.replies for c in r.tool_calls), None)
    click.echo(f"\nnext: {session.command(f'why {trace_id[:12]} ' + (f'tool:{acted}' if acted else 'last'))}")
