"""The report of `odds` and `replay` for a terminal: what happened how often, with and without the changes."""

from collections.abc import Iterator

from ...analysis.replays import ReplayReport, Row
from ..output import Paint, shorten, text_width

BAR = 20


def render_replay(report: ReplayReport, paint: Paint) -> Iterator[str]:
    """Yields the lines of the report."""
    model = " / ".join(report.models) or str(report.case.request.get("model", "the model"))
    yield f"{paint('replay', bold=True)}  {paint(model)} {paint(report.case.target.label)}"
    for row in report.rows:
        yield ""
        yield from _row(row, report.rows[0], paint)
    yield ""
    yield paint(f"  {_spend(report)}", dim=True)


def _row(row: Row, base: Row, paint: Paint) -> Iterator[str]:
    low, high = row.interval
    yield f"  {paint(shorten(row.intervention.summary, text_width() - 4), bold=True)}"
    yield f"    {row.tally.target} of {row.tally.draws} replays, 95 % interval {low:.2f} to {high:.2f}"
    if row is not base:
        down, up = row.difference
        yield f"    {row.tally.rate - base.tally.rate:+.2f} ({down:+.2f} to {up:+.2f}), e-value {row.e_value:,.3g}"
    width = max((len(what) for what, _ in row.did), default=0)
    for what, count in row.did:
        bar = "█" * max(1, round(BAR * count / row.tally.draws))
        yield f"    {paint(what):<{width}}  {paint(bar, fg='cyan')} {count}"


def _spend(report: ReplayReport) -> str:
    cost = f", ${report.cost_usd:.4f}" if report.cost_usd else ""
    ended = "" if report.is_complete else "; a cap ended it early, the same command goes on with a larger one"
    return f"{report.paid} replays paid, {report.tokens:,} tokens{cost}{ended}"
