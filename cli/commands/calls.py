"""`whyspan calls`: the rebuilt model calls of a run."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime

import click

from ...ingest.calls import ModelCall
from ...ingest.errors import NotFoundError, UsageError
from ...ingest.prices import read_prices
from ...ingest.rebuild import load_run, read_traces, rebuild_calls
from ...ingest.settings import load_section
from ...ingest.store import Store
from ..output import Session, write_table

_ID = 8
_TEXT = 48


@click.command(epilog="Example: whyspan calls last --json | jq .request.messages")
@click.argument("run", default="last")
@click.option("--all", "everything", is_flag=True, help="The calls of all runs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, with the whole request.")
@click.pass_obj
def command(session: Session, run: str, everything: bool, as_json: bool) -> None:
    """Print the model calls of RUN: `last`, a trace id or its beginning, or a session id.

    Each request is rebuilt from the spans and logs of its run; the grade tells how far it can be trusted.
    """
    if everything and run != "last":
        raise UsageError("give a run or --all, not both")
    with session.open_store() as store:
        calls: Iterator[ModelCall] = _all_calls(store) if everything else iter(load_run(store, run))
        calls = read_prices(load_section("prices")).with_costs(calls)
        if as_json:
            for call in calls:
                click.echo(json.dumps(call.to_json(), ensure_ascii=False, default=str))
            return
        listed = list(calls)
    if not listed:
        raise NotFoundError("no model calls here", hint=f"`{session.command('doctor')}` says what the spans lack")
    _write(listed)
    click.echo(f"next: {session.command(f'why {listed[-1].trace_id[:_ID]} span:{listed[-1].span_id[:_ID]}')}")


def _all_calls(store: Store) -> Iterator[ModelCall]:
    """Yields the calls of all runs, in start order inside a run."""
    for spans, logs in read_traces(store, store.all_trace_ids()):
        yield from rebuild_calls(spans, logs)


def _write(calls: Iterable[ModelCall]) -> None:
    columns = ("start", "run", "span", "model", "api", "outcome", "tokens", "cost", "grade")
    rows = [
        (
            datetime.fromtimestamp(call.start_ns / 1e9).astimezone().strftime("%m-%d %H:%M:%S"),
            call.trace_id[:_ID],
            call.span_id[:_ID],
            call.request_model,
            call.api.value,
            _outcome(call),
            _tokens(call),
            "" if call.usage.cost_usd is None else f"${call.usage.cost_usd:.4f}",
            call.completeness.grade.value,
        )
        for call in calls
    ]
    write_table(columns, rows, width=_TEXT)


def _outcome(call: ModelCall) -> str:
    if not call.replies:
        return "(reply not recorded)"
    reply = call.replies[0]
    if reply.error:
        return f"error: {reply.error}"
    if reply.tool_calls:
        return ", ".join(f"{c.name}()" for c in reply.tool_calls)
    return reply.text or reply.refusal or f"(empty, {reply.finish_reason or 'no finish reason'})"


def _tokens(call: ModelCall) -> str:
    usage = call.usage
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    return "+".join("?" if n is None else str(n) for n in (usage.input_tokens, usage.output_tokens))
