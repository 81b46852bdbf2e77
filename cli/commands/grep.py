"""`whyspan grep`: where a text entered a run."""

import re
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ...ingest.errors import ExitCode, UsageError
from ..output import Paint, Session, write_json
from ..tables import ID_LENGTH

if TYPE_CHECKING:
    from ...analysis.sightings import Entry
    from ...ingest.spans import TraceId
    from ...ingest.store import Store

# A message is kept as JSON text, in which some characters are escaped; the pieces of an answer are looked at exactly.
HOLDING = """SELECT trace_id, max(time) AS time FROM (
  SELECT trace_id, time FROM messages WHERE regexp_matches(body, $pattern)
  UNION ALL
  SELECT trace_id, started FROM spans
  WHERE len(list_filter(attributes, lambda pair: regexp_matches(pair.value, $pattern))) > 0)
GROUP BY trace_id ORDER BY time DESC, trace_id LIMIT $limit"""


@click.command(epilog="Example: whyspan grep 'ap-desk@harrow-billing.example' last")
@click.argument("text")
@click.argument("run", required=False)
@click.option("-e", "--regex", "is_regex", is_flag=True, help="TEXT is a regular expression.")
@click.option("-i", "--ignore-case", is_flag=True, help="Regardless of case.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Runs to show at most.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    session: Session, text: str, run: str | None, is_regex: bool, ignore_case: bool, limit: int, as_json: bool
) -> int:
    """Find the first place where a text entered RUN, or each of the latest runs that hold it.

    Exit codes: 0 it was found, 1 no run holds it.
    """
    pattern = _compile(text, is_regex=is_regex, ignore_case=ignore_case)
    found: list[tuple[TraceId, Entry]] = []
    with session.open_store() as store:
        for trace_id in [store.resolve_run(run)] if run else _holding(store, pattern, limit):
            entry = _entry(store, trace_id, pattern)
            if entry is not None:
                found.append((trace_id, entry))
    if as_json:
        write_json({"entries": [{"run_id": trace_id, **asdict(entry)} for trace_id, entry in found]})
    else:
        _print(session, found, text)
    return ExitCode.OK if found else ExitCode.FINDING


def _compile(text: str, *, is_regex: bool, ignore_case: bool) -> re.Pattern[str]:
    try:
        return re.compile(text if is_regex else re.escape(text), re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise UsageError(f"{text!r} is no regular expression: {error}") from error


def _holding(store: "Store", pattern: re.Pattern[str], limit: int) -> list["TraceId"]:
    from ...ingest.spans import TraceId
    from ...ingest.store.querying import run_query

    flags = "(?i)" if pattern.flags & re.IGNORECASE else ""
    found = run_query(store, HOLDING, {"pattern": flags + pattern.pattern, "limit": limit})
    return [TraceId(row[0]) for row in found.rows]


def _entry(store: "Store", trace_id: "TraceId", pattern: re.Pattern[str]) -> "Entry | None":
    from ...analysis.sightings import find_entry
    from ...ingest.rebuild import rebuild_calls

    spans, logs = store.spans(trace_id), store.logs(trace_id)
    return find_entry(spans, logs, rebuild_calls(spans, logs), pattern)


def _print(session: Session, found: list[tuple["TraceId", "Entry"]], text: str) -> None:
    paint = Paint.stdout(session)
    if not found:
        click.echo(f"no run holds {paint(repr(text))}")
        return
    for trace_id, entry in found:
        read = f"first read by #{entry.reader}, as {entry.read_as}" if entry.reader else "read by no model call"
        click.echo(f"{paint(trace_id[:ID_LENGTH], bold=True)}  {paint(entry.first.where)}  {paint(read, dim=True)}")
        click.echo(f"    {paint(entry.first.quote, fg='yellow')}")
    trace_id, entry = found[0]
    event = f"#{entry.reader}" if entry.reader else ""
    click.echo(
        f"\nnext: {session.command(f'show {trace_id[:ID_LENGTH]} {shlex.quote(event) if event else event}'.strip())}"
    )
