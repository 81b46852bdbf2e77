"""An outcome over time for a terminal."""

from collections.abc import Iterator

from ...analysis.trend import Trend
from ..output import Paint, shorten

BAR_WIDTH = 30
COLORS = {"holds": "green", "no longer": "red", "to be measured again": "yellow"}


def render_trend(trend: Trend, paint: Paint) -> Iterator[str]:
    """Yields the lines: a bar a period, the change points, and the claims with how they stand."""
    changes = {change.start: change for change in trend.changes}
    for period in trend.periods:
        if change := changes.pop(period.start, None):
            p = f"p = {change.p_value:.2g}"
            yield paint(f"  ── changes from {change.before:.2f} to {change.after:.2f} ({p}) ──", fg="yellow", bold=True)
        low, high = period.interval
        bar = "".join(_cell(i / BAR_WIDTH, period.rate, low, high) for i in range(BAR_WIDTH))
        who = shorten(f"{period.model} {period.version}".strip(), 28)
        yield (
            f"  {period.start:%Y-%m-%d}  {paint(f'{who:<28}')} {paint(bar, fg='cyan')} "
            f"{period.rate:.2f} [{low:.2f}, {high:.2f}]  {period.hits} of {period.decisions}"
        )
    if trend.claims:
        yield ""
        yield paint("  claims about this outcome", bold=True)
    for claim in trend.claims:
        state = paint(f"{claim.state:<20}", fg=COLORS.get(claim.state, "white"))
        about = f"measured {claim.measured:%Y-%m-%d} on {claim.model}"
        yield f"  {state} {claim.kind:<6} {paint(shorten(claim.subject, 60))}  {paint(about, dim=True)}"


def _cell(at: float, rate: float, low: float, high: float) -> str:
    if at < rate:
        return "█"
    return "─" if low <= at <= high else " "
