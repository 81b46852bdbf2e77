"""The report of `fix` for a terminal."""

from collections.abc import Iterator

from ...analysis.fixes.fix import FixReport
from ...analysis.fixes.verify import Measured
from ..output import Paint
from .why_text import rate_words

COLORS = {"holds": "green", "reduces": "yellow", "fails": "red", "inconclusive": "yellow"}


def render_fix(report: FixReport, paint: Paint) -> Iterator[str]:
    """Yields the lines of the report."""
    yield f"{paint('fix', bold=True)}  stop that it {paint(report.case.target.label)}"
    yield ""
    if report.measured:
        yield f"  as recorded              {rate_words(report.measured[0].claim.base)}"
    for measured in report.measured:
        yield _line(measured, paint)
    yield ""
    best = report.best_rule
    if best:
        yield f"  add to the system prompt ({paint(best.candidate.title)}):"
        for line in best.candidate.rule.splitlines():
            yield paint(f"    {line}", fg="green")
        yield ""
    elif report.best is None:
        yield "  None of these candidates stops it."
        yield ""
    yield paint(
        f"  {report.calls} replays of the failing case; whether a rule breaks right decisions was not measured",
        dim=True,
    )


def _line(measured: Measured, paint: Paint) -> str:
    word = paint(f"{measured.word:<12}", fg=COLORS[measured.word], bold=True)
    upper = f"at most {measured.residual[1]:.2f} is left" if measured.word in {"holds", "reduces"} else ""
    rate = rate_words(measured.claim.changed)
    return f"  {measured.candidate.title:<24} {rate}   {word} {paint(upper, dim=True)}".rstrip()
