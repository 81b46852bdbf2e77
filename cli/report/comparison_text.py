"""Two runs side by side for a terminal."""

from collections.abc import Iterator, Sequence

from ...analysis.comparison import Comparison, Pair, Step
from ...analysis.segments import Segment
from ..output import Paint, shorten

WIDTH = 100
SHOWN = 12
"""Pieces of context shown for each side."""


def render_comparison(comparison: Comparison, names: tuple[str, str], paint: Paint) -> Iterator[str]:
    """Yields the lines: what both did, where they part, what differs in what they had read."""
    yield f"{paint('-', fg='red')} {paint(names[0])}"
    yield f"{paint('+', fg='green')} {paint(names[1])}"
    yield ""
    for pair in comparison.pairs:
        yield from _pair(pair, paint)
    yield ""
    if comparison.parting is None or comparison.context is None:
        same = all(pair.is_same for pair in comparison.pairs)
        yield "  both did the same" if same else "  one goes on where the other ends"
        return
    yield paint("  where they part, only one had read:", bold=True)
    yield from _pieces(comparison.context.only_left, "-", "red", paint)
    yield from _pieces(comparison.context.only_right, "+", "green", paint)
    for name, left, right in comparison.context.parameters:
        was, now = (paint(shorten(repr(v), 40), fg=color) for v, color in ((left, "red"), (right, "green")))
        yield f"    {paint(name)}: {was} → {now}"
    if not (comparison.context.only_left or comparison.context.only_right or comparison.context.parameters):
        yield "    nothing: their requests say the same, so this is chance (`whyspan odds` measures it)"


def _pair(pair: Pair, paint: Paint) -> Iterator[str]:
    if pair.left and pair.right:
        yield (
            f"  {_step(pair.left)}"
            if pair.left.number == pair.right.number
            else (f"  {_step(pair.left)}  {paint(f'(#{pair.right.number} in the other)', dim=True)}")
        )
    elif pair.left:
        yield paint(f"- {_step(pair.left)}", fg="red")
    elif pair.right:
        yield paint(f"+ {_step(pair.right)}", fg="green")


def _step(step: Step) -> str:
    return f"#{step.number:<3} {step.words}"


def _pieces(pieces: Sequence[Segment], sign: str, color: str, paint: Paint) -> Iterator[str]:
    for piece in pieces[:SHOWN]:
        yield paint(f"    {sign} {piece.role.value:<10} {shorten(piece.text, WIDTH)}", fg=color)
    if len(pieces) > SHOWN:
        yield paint(f"    {sign} … and {len(pieces) - SHOWN} more", fg=color, dim=True)
