"""The report of `why` for a terminal: the cause in its surroundings, the rates, the evidence, what else was tried."""

import textwrap
from collections.abc import Iterator

from ...analysis.attribution.problem import Tally
from ...analysis.attribution.result import Claim as Cause
from ...analysis.attribution.result import Kind, Stop
from ...analysis.attribution.why import WhyReport
from ...analysis.segments import Segment, fold
from ...analysis.targets import SameCallsTarget
from ...ingest.calls import Grade
from ..output import Paint, shorten, text_width
from .chain_text import render_chain

KIND_WORDS = {
    Kind.PUSHES: "pushes: without it the model does something else",
    Kind.REQUIRED: "required: without it the model lacks an input",
    Kind.REDUNDANT: "redundant: any one of these is enough, only without all of them it ends",
    Kind.JOINT: "joint: needed together with another piece",
    Kind.MASKED: "masked: it works against another piece",
    Kind.DIFFUSE: "diffuse: many pieces contribute a little",
}
STOP_WORDS = {
    Stop.NO_CAUSE: "No piece that was tested is a cause: the model decides so whatever is taken away.",
    Stop.RARE: "The decision is too rare to be explained by sampling.",
    Stop.UNRESOLVED: "Something that was taken away seems to matter, but no cause could be confirmed.",
    Stop.BUDGET: "The budget ended before a cause was found; a larger --budget goes on from here.",
}
QUOTE_LENGTH = 600
"""A longer piece is cut in the quotation."""


def render_why(report: WhyReport, paint: Paint) -> Iterator[str]:
    """Yields the lines of the report, as wide as the terminal."""
    width = text_width()
    case, result = report.case, report.attribution
    model = str(case.request.get("model", "the model"))
    yield f"{paint('why', bold=True)}  {paint(model)} {paint(case.target.label)}" + paint(_where(report), dim=True)
    yield ""
    for cause in _ordered(report):
        yield from _cause(report, cause, paint, width, is_headline=cause is result.headline)
        yield ""
    if not result.claims:
        yield paint(STOP_WORDS[result.stop], bold=True) if result.stop in STOP_WORDS else ""
        yield f"  as recorded    {rate_words(result.baseline, _unit(report))}"
        if result.stop is Stop.RARE and isinstance(case.target, SameCallsTarget):
            events = " or ".join(dict.fromkeys(f"tool:{name}" for name, _ in case.target.calls))
            yield f"  The arguments vary: ask about {paint(events)}, whatever they are."
        yield ""
    if report.chain:
        yield from render_chain(report.chain, paint)
        yield ""
    yield from _notes(report, paint)


def _where(report: WhyReport) -> str:
    origin = report.case.origin
    return f"   run {origin.trace_id[:12]}, span {origin.span_id[:8]}" if origin.trace_id else ""


def _ordered(report: WhyReport) -> list[Cause]:
    head = report.attribution.headline
    return sorted(report.attribution.claims, key=lambda c: c is not head)


def _cause(report: WhyReport, cause: Cause, paint: Paint, width: int, *, is_headline: bool) -> Iterator[str]:
    word = "cause" if is_headline else "also"
    for segment in report.segments(cause):
        yield f"  {paint(word, fg='red', bold=True)}  in {paint(segment.place)}"
        yield from _quote(segment, paint, width)
    yield f"  as recorded    {rate_words(cause.with_pieces, _unit(report))}"
    yield f"  without it     {rate_words(cause.without_pieces, _unit(report))}{_instead(cause.without_pieces)}"
    low, high = -cause.drop.high, -cause.drop.low
    yield f"  effect         {-cause.effect:+.2f}, 95 % interval {low:+.2f} to {high:+.2f}"
    yield f"  evidence       e-value {cause.e_value:,.0f}, needed {1 / cause.alpha_t:,.0f}"
    yield paint(f"  {KIND_WORDS[cause.kind]}", dim=True)


def _quote(segment: Segment, paint: Paint, width: int) -> Iterator[str]:
    """Yields the piece between what stands right before and after it, markup included."""
    room = width - 10
    if before := fold(segment.before):
        yield paint("      " + (before if len(before) <= room else "…" + before[-room:]), dim=True)
    for n, line in enumerate(textwrap.wrap(shorten(segment.text, QUOTE_LENGTH), width - 6, break_on_hyphens=False)):
        yield paint(("    > " if n == 0 else "      ") + line, fg="yellow", bold=True)
    if after := fold(segment.after):
        yield paint("      " + shorten(after, room), dim=True)


def rate_words(tally: Tally, unit: str = "replays") -> str:
    """Returns `9 of 10 replays (0.90)`."""
    return f"{tally.target:>3} of {tally.draws:<3} {unit} ({tally.rate:.2f})"


def _unit(report: WhyReport) -> str:
    return "samples" if report.by_logprobs else "replays"


def _instead(tally: Tally) -> str:
    other = f"{tally.other} x another action" if tally.other else ""
    asks = f"{tally.asks} x asks or stops" if tally.asks else ""
    instead = ", ".join(filter(None, (other, asks)))
    return f"  instead {instead}" if instead else ""


def _notes(report: WhyReport, paint: Paint) -> Iterator[str]:
    result = report.attribution
    total = len(report.segmentation.groups)
    what = "calls" if report.by_logprobs else "replays"
    rerun = f", {report.calls - report.paid} of them known from before" if report.calls > report.paid else ""
    tested = f"{len(result.tested)} removals among {total} pieces"
    yield paint(f"  {report.calls} {what} in {result.rounds} rounds{rerun}; {tested}", dim=True)
    if report.by_logprobs:
        yield paint("  by log-probabilities: samples are drawn from what a call told, at no further call", dim=True)
    if report.guess is not None:
        suspected = " / ".join(shorten(report.segmentation.said(g), 80) for g in report.guess) or "no piece"
        yield paint(f"  asked, the model suspected (no evidence, only looked at first): {suspected}", dim=True)
    for note in (*result.notes, *(f"open: {o}" for o in result.open)):
        yield paint(f"  {note}", dim=True)
    if report.case.origin.grade == Grade.PARTIAL.value:
        yield paint("  the recorded request is partial: `whyspan calls` says what is missing", dim=True)
