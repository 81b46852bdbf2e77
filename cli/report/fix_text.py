"""The report of `fix` for a terminal."""

import textwrap
from collections.abc import Iterator

from ...analysis.attribution.problem import Tally
from ...analysis.fixes.fix import FixReport
from ...analysis.fixes.guarding import Guarding, Safety
from ...analysis.fixes.horizon import Horizon
from ...analysis.fixes.verify import Measured, Word
from ...analysis.interventions import SystemPrompt
from ..output import Paint, shorten, text_width

COLORS = {
    Word.HOLDS: "green",
    Word.REDUCES: "yellow",
    Word.FAILS: "red",
    Word.HARMFUL: "red",
    Word.INCONCLUSIVE: "yellow",
}
SAFETY_WORDS = {
    Safety.KEEPS: "stay right",
    Safety.BREAKS: "break",
    Safety.UNCLEAR: "not clear yet",
    Safety.UNTOUCHED: "no guard case is touched",
}
TITLE_WIDTH = 40


def render_fix(report: FixReport, paint: Paint) -> Iterator[str]:
    """Yields the lines of the report."""
    yield f"{paint('fix', bold=True)}  stop that it {paint(report.case.target.label)}"
    yield ""
    titles = [shorten(m.candidate.title, TITLE_WIDTH) for m in report.measured]
    width = max(map(len, ["as recorded", *titles]))
    if report.measured:
        yield f"  {'as recorded':<{width}}  {_share(report.measured[0].claim.base)}"
    for title, measured in zip(titles, report.measured, strict=True):
        yield f"  {paint(f'{title:<{width}}')}  {_verdict(measured, paint)}"
        for line in _beyond(measured):
            yield paint(f"    {line}", dim=True)
    yield ""
    yield from _advice(report, paint)
    if report.is_cut_short:
        yield paint(
            "  The budget ended early: a larger --budget goes on from here, what is known stays free.", bold=True
        )
    for line in textwrap.wrap(f"{report.calls} replays; {_guard_words(report)}", text_width() - 2):
        yield paint(f"  {line}", dim=True)


def _share(tally: Tally) -> str:
    return f"{tally.target:>3} of {tally.draws:<3} ({tally.rate:.2f})"


def _verdict(measured: Measured, paint: Paint) -> str:
    word = paint(f"{measured.word.value:<12}", fg=COLORS[measured.word], bold=True)
    return f"{_share(measured.claim.changed)}  {word} {paint(_remark(measured), dim=True)}".rstrip()


def _remark(measured: Measured) -> str:
    low, high = measured.residual
    match measured.word:
        case Word.HOLDS | Word.REDUCES:
            return f"{low:.2f} to {high:.2f} left"
        case Word.FAILS:
            return f"{low:.2f} to {high:.2f}"
        case Word.HARMFUL:
            return "breaks decisions that were right"
        case Word.INCONCLUSIVE if measured.refusal:
            return f"refused: {shorten(measured.refusal, 60)}"
        case Word.INCONCLUSIVE if measured.more_calls:
            return f"about {measured.more_calls} more calls would tell"
        case _:
            return ""


def _beyond(measured: Measured) -> Iterator[str]:
    if measured.horizon:
        yield _horizon_words(measured.horizon)
    if measured.guarding:
        yield _safety_words(measured.guarding)


def _horizon_words(horizon: Horizon) -> str:
    leaking = f"in {horizon.leaking} of them " if horizon.leaking else ""
    return (
        f"in {len(horizon.runs)} other failing runs: {_share(horizon.tally).strip()}, {leaking}"
        f"{horizon.interval[0]:.2f} to {horizon.interval[1]:.2f} left"
    )


def _safety_words(guarding: Guarding) -> str:
    word = SAFETY_WORDS[guarding.safety]
    if guarding.safety is Safety.UNTOUCHED:
        return word
    if not guarding.changed.draws:
        return "right decisions were not measured: the budget ended"
    broken = [t.guard.reason for t in guarding.tallies if t.changed.rate < 0.5 <= t.base.rate]
    names = f": {', '.join(broken[:3])}" if broken else ""
    return f"right decisions {word}: {_share(guarding.changed).strip()}, {guarding.base.rate:.2f} before{names}"


def _guard_words(report: FixReport) -> str:
    if not report.guards:
        return "no guard cases were found, so whether a fix breaks right decisions is not known"
    return f"guard cases: {', '.join(g.reason for g in report.guards)}"


def _advice(report: FixReport, paint: Paint) -> Iterator[str]:
    best = report.best_rule
    if best and isinstance(best.candidate.intervention, SystemPrompt):
        yield f"  use the {paint(best.candidate.title)}"
    elif best:
        yield f"  add to the system prompt ({paint(best.candidate.title)}):"
        for paragraph in best.candidate.rule.splitlines():
            for line in textwrap.wrap(paragraph, text_width() - 4, break_on_hyphens=False) or [""]:
                yield paint(f"    {line}".rstrip(), fg="green")
    elif report.best is None and report.measured and not report.measured[0].claim.base.target:
        yield "  It does not come again in replays of the request as recorded, so there is nothing to stop."
    elif report.best is None:
        yield "  None of these candidates stops it."
    else:
        yield f"  do this: {paint(report.best.candidate.title)}"
    yield ""
