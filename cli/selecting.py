"""`--select` on the commands that take one decision: the same for each decision that a query names."""

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ..ingest.errors import NotReplayableError, UsageError
from ..ingest.overlays import NO_OVERLAYS, Overlays
from .output import printable

if TYPE_CHECKING:
    from ..analysis.cases import Case
    from ..ingest.store import Store


def select_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--select`; the command takes it as `query: str`."""
    return click.option(
        "--select", "query", default="", metavar="SQL",
        help="Do it for each decision of a query for trace_id, span_id (and event), or of a condition on `decisions`.",
    )(command)  # fmt: skip


def choose_cases(store: "Store", run: str, event: str, query: str, *, overlays: Overlays = NO_OVERLAYS) -> list["Case"]:
    """Returns the case that RUN and EVENT name, or that of each decision that the query names.

    Of many, those that cannot be replayed are named on standard error and left out.
    """
    from ..analysis.cases import freeze
    from ..analysis.questions import freeze_decision
    from ..analysis.selection import select_decisions
    from ..analysis.targets import select
    from ..ingest.rebuild import load_calls, load_run

    if not query:
        return [freeze(*select(overlays.apply(load_run(store, run)), event))]
    if (run, event) != ("last", "last"):
        raise UsageError("give RUN and EVENT or --select, not both")
    cases = []
    for decision in select_decisions(store, query):
        try:
            cases.append(freeze_decision(overlays.apply(load_calls(store, decision.trace_id)), decision))
        except NotReplayableError as error:
            click.echo(f"left out: {printable(error.message)}", err=True)
    return cases


def words(run: str, event: str, query: str = "") -> str:
    """Returns the arguments that choose the same decisions in another command."""
    return f"--select {shlex.quote(query)}" if query else shlex.join([run, event])


def one_decision(trace_id: str, span_id: str, event: str) -> str:
    """Returns the `--select` that asks about one outcome of one call; in double quotes, as SQL has single ones."""
    said = event.replace("'", "''")
    query = f"SELECT '{trace_id}' AS trace_id, '{span_id}' AS span_id, '{said}' AS event"
    if "!" in query:  # history expansion knows no escape
        return f"--select {shlex.quote(query)}"
    escaped = re.sub(r'(["\\$`])', r"\\\1", query)
    return f'--select "{escaped}"'
