"""What the imports from other back ends share: which traces, polling, progress, and the summary."""

import functools
import re
import sys
import time
from collections.abc import Callable
from datetime import datetime
from time import strftime
from typing import Any

import click

from ..ingest.errors import UpstreamError, UsageError
from ..ingest.sources.importing import write_rejects
from ..ingest.sources.pulling import PullReport, pull
from ..ingest.sources.registry import sources
from ..ingest.sources.source import Selection, Source
from .output import Session, write_json

POLL_S = 30.0
"""Pause of `--follow`."""
_UNITS_S = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class Age(click.ParamType[int]):
    """A time span such as `7d`, `12h` or `30m`, in nanoseconds."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Returns nanoseconds."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+)([mhdw])", str(value))
        if match is None:
            self.fail(f"{value!r} is no time span: 30m, 12h, 7d, 2w", param, ctx)
        return int(match[1]) * _UNITS_S[match[2]] * 10**9


class Moment(click.ParamType[int]):
    """A date or a date with a time, ISO 8601, local where it names no zone; in Unix nanoseconds."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Returns Unix nanoseconds."""
        if isinstance(value, int):
            return value
        try:
            return int(datetime.fromisoformat(str(value)).astimezone().timestamp() * 10**6) * 1000
        except ValueError:
            self.fail(f"{value!r} is no date: 2026-11-30, or 2026-11-30T12:00", param, ctx)


def window_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options about time and traces; the command takes them as `selection: Selection`, with `follow`."""

    @functools.wraps(command)
    def with_selection(
        *args: Any, since: int | None, start: int | None, end: int | None, traces: tuple[str, ...], **kwargs: Any
    ) -> Any:
        if since is not None and start is not None:
            raise UsageError("--since and --from exclude each other")
        if traces and kwargs["follow"]:
            raise UsageError("--trace and --follow exclude each other")
        selection = Selection(
            start_ns=start if since is None else time.time_ns() - since,
            end_ns=end,
            is_rolling=since is not None,
            trace_ids=traces,
        )
        return command(*args, selection=selection, **kwargs)

    options = (
        click.option("--since", type=Age(), help="Traces of the last 30m, 12h, 7d, …; a repeat adds what is new."),
        click.option("--from", "start", type=Moment(), help="Traces that began at this time or later."),
        click.option("--to", "end", type=Moment(), help="Traces that began before this time."),
        click.option("--trace", "traces", metavar="ID", multiple=True, help="Only these traces."),
        click.option("--follow", is_flag=True, help="Keep looking for new ones, every 30 s."),
        click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON."),
    )
    result: Callable[..., Any] = with_selection
    for option in reversed(options):
        result = option(result)
    return result


def import_from(
    name: str, session: Session, selection: Selection, *, follow: bool, as_json: bool, **options: Any
) -> None:
    """Imports what a back end has, once or for ever, and says what came in."""
    with sources()[name](selection, **options) as source:
        import_source(name, session, source, follow=follow, as_json=as_json)


def import_source(name: str, session: Session, source: Source, *, follow: bool, as_json: bool) -> None:
    """Imports what a source has, once or for ever, and says what came in."""
    with session.create_store() as store:
        target = store.path / "rejects" / f"{strftime('%Y%m%d-%H%M%S')}.jsonl"
        while True:
            report = pull(store, source, progress=_progress)
            if report.rejects:
                write_rejects(target, report.rejects)
            _tell(session, name, report, str(target), as_json=as_json)
            if not follow:
                return
            time.sleep(POLL_S)


def _progress(report: PullReport) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{report.spans} spans, {report.scores} scores", err=True, nl=False)


def _tell(session: Session, name: str, report: PullReport, target: str, *, as_json: bool) -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[2K", err=True, nl=False)
    if report.rejects:
        first = report.rejects[0]
        click.echo(f"warning: {len(report.rejects)} rejected; the first: {first.place}: {first.reason}", err=True)
        click.echo(f"all of them are in {target}", err=True)
    if as_json:
        rejected = {"rejected": len(report.rejects), "reject_file": target if report.rejects else None}
        write_json({"source": name, "spans": report.spans, "scores": report.scores, **rejected})
        return
    click.echo(f"imported {report.spans} spans and {report.scores} scores from {name}")
    if report.rejects and not report.spans:
        raise UpstreamError(f"nothing that {name} sent can be read")
    if report.spans:
        click.echo(f"next: {session.command('runs')}")
