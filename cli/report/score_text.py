"""The ranking of a method other than `why`, for a terminal; it says that nothing in it was tested."""

from collections.abc import Iterator

from ...analysis.attribution.methods import Method
from ...analysis.attribution.methods.scoring import ScoreReport
from ..output import Paint, shorten, text_width
from .why_text import rate_words

METHOD_WORDS = {
    Method.LOO: "leave-one-out: the drop of the rate when a piece is removed alone",
    Method.CONTEXTCITE: "ContextCite: the weight of a piece in a sparse fit to random removals",
    Method.JUDGE: "judge: the model's own word, 1 for the piece it named first",
}
SHOWN = 10
"""Pieces listed; `--json` has all of them."""


def render_scores(report: ScoreReport, paint: Paint) -> Iterator[str]:
    """Yields the lines of the ranking, as wide as the terminal."""
    scores, case = report.scores, report.case
    yield f"{paint('scores', bold=True)}  {paint(METHOD_WORDS[report.method])}"
    yield paint(f"  {case.request.get('model', 'the model')} {case.target.label}", dim=True)
    yield ""
    for leaf in scores.ranked[:SHOWN]:
        piece = report.piece(leaf)
        head = f"  {scores.values[leaf]:+.2f}  {piece.place}: "
        text = shorten(piece.text, max(20, text_width() - len(head)))
        yield paint(head) + paint(text, bold=leaf == scores.named)
    if not scores.ranked:
        yield "  no piece scores above 0"
    if scores.baseline.draws:
        yield f"  as recorded    {rate_words(scores.baseline)}"
    named = "names no piece" if scores.named is None else "names the first piece"
    yield paint(f"  The method {named}. These are scores: nothing was tested, no error rate holds.", dim=True)
    yield paint(f"  {scores.draws} replays for {len(report.segmentation.groups)} pieces", dim=True)
    if not scores.is_complete:
        yield paint(
            "  The budget ended first: pieces that were not reached score 0. A larger --budget goes on.", dim=True
        )
