"""What a learning run and a playbook look like in a terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..output import Paint, shorten

if TYPE_CHECKING:
    from ...analysis.learning.lessons.playbook import Item
    from ...analysis.learning.lessons.run_report import Proposal, RunReport

_COLOURS = {"admitted": "green", "refuted": "red", "inconclusive": "yellow"}


def render_run(report: "RunReport", paint: Paint, *, paid: int) -> Iterator[str]:
    """Yields the generations, then what was measured of each proposal and why it was admitted or not."""
    for generation in report.generations:
        yield (
            f"generation {generation.number}  score {generation.score:.2f} over {len(generation.plays)} runs"
            f"  {len(generation.served)} lessons served"
        )
    yield ""
    if not report.proposals:
        yield "nothing new was proposed"
    for proposal in report.proposals:
        yield from _proposal(proposal, paint)
    yield f"{len(report.served)} lessons in force; {paid} model calls paid for"


def _proposal(proposal: "Proposal", paint: Paint) -> Iterator[str]:
    found = proposal.finding
    measured, (low, high) = found.measured, found.measured.interval
    word = found.decision.value
    yield f"{paint(word, fg=_COLOURS[word], bold=True)}  {paint(shorten(found.lesson.text, 90))}"
    origin = f"    {proposal.role}, generation {proposal.generation}: "
    if measured.blocks:
        yield (
            f"{origin}score {found.rates[0]:.2f} without, {found.rates[1]:.2f} with it over {len(measured.blocks)} "
            f"cases; effect {measured.effect:+.2f} [{low:+.2f}, {high:+.2f}]"
        )
    else:
        yield f"{origin}too few cases to test it on"
    yield f"    {proposal.reason}"


def render_items(items: Sequence["Item"], paint: Paint) -> Iterator[str]:
    """Yields the lessons of a playbook with their evidence."""
    for item in items:
        yield f"{item.id}  {paint(item.status.value, bold=True)}  {paint(shorten(item.lesson.text, 90))}"
        if item.evidence:
            shown = ("e", "effect", "ci", "cases", "heldout", "epoch")
            yield "    " + ", ".join(f"{key} {item.evidence[key]}" for key in shown if key in item.evidence)
