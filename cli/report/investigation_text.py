"""What an investigation found, for a terminal: the causes in each decision, then what the decisions have in common."""

import textwrap
from collections.abc import Iterator

from ...analysis.investigation.findings import Finding
from ...analysis.investigation.investigate import Investigation
from ...analysis.statistics.logarithms import from_log
from ..output import Paint, shorten, text_width
from .why_text import rate_words

SHOWN = 5
"""Sources listed whose evidence does not suffice; `--json` has all."""


def render_common(found: Investigation, paint: Paint) -> Iterator[str]:
    """Yields the lines about what several decisions have in common."""
    causes = sum(report.headline is not None for report in found.reports)
    yield paint(f"{len(found.reports)} decisions, a cause was found in {causes}", bold=True)
    if found.left_out:
        yield f"  left out: {found.left_out} with the same request as another one, whose replays would count twice"
    supported = [finding for finding in found.findings if finding.source.is_supported]
    open_ones = [finding for finding in found.findings if not finding.source.is_supported]
    for finding in supported:
        yield ""
        yield from _finding(finding, paint)
    if not supported:
        yield "  No text and no place is shown to be a cause across them."
    if open_ones:
        yield ""
        yield paint("  tested, without enough evidence across the decisions:", dim=True)
        for finding in open_ones[:SHOWN]:
            tested = f"{len(finding.tested)} of {len(finding.source.shares)} decisions"
            yield paint(f"    {shorten(finding.label, 60)}  ({_evidence(finding)}; {tested})", dim=True)


def _finding(finding: Finding, paint: Paint) -> Iterator[str]:
    shares, width = finding.source.shares, text_width()
    yield f"  {paint('cause', fg='red', bold=True)}  {paint(shorten(finding.label, width - 9), bold=True)}"
    yield f"  in             some of {len(shares)} decisions that hold it; {finding.claimed} show it by themselves"
    yield f"  as recorded    {rate_words(finding.base)}"
    yield f"  without it     {rate_words(finding.changed)}  in {len(finding.tested)} decisions tested"
    yield f"  evidence       {_evidence(finding)}"
    cases = ", ".join(_case(finding, n) for n in range(len(shares)))
    yield from textwrap.wrap(cases, width, initial_indent="  decisions      ", subsequent_indent=" " * 17)


def _case(finding: Finding, number: int) -> str:
    share = finding.source.shares[number]
    origin = finding.cases[share.case].origin
    name = f"{origin.trace_id[:8]}/{origin.span_id[:8]}" if origin.trace_id else finding.cases[share.case].id[:8]
    return f"{name} {'shown' if share.is_claimed else 'not shown' if share.attempts else 'not tested'}"


def _evidence(finding: Finding) -> str:
    return f"e-value {from_log(finding.source.log_e):,.3g}, needed {1 / finding.source.level:,.0f}"
