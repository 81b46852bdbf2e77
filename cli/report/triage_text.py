"""The ranked list of `triage` for a terminal."""

from collections.abc import Iterator, Sequence

from ...analysis.triage import Nomination
from ..output import Paint, shorten
from ..tables import ID_LENGTH

WHY_WIDTH = 100


def render_triage(nominations: Sequence[Nomination], paint: Paint) -> Iterator[str]:
    """Yields the lines: each decision with the question to ask about it, and the reasons for its rank."""
    for rank, found in enumerate(nominations, 1):
        head = f"{rank:>3}. {found.score:4.1f}  {found.trace_id[:ID_LENGTH]} {found.question}"
        about = f"{found.row['service'] or ''}  {found.row['started']:%Y-%m-%d %H:%M}"
        yield f"{paint(head, bold=True)}  {paint(about, dim=True)}"
        for reason in found.reasons:
            yield f"           {paint(f'{reason.signal:<12}', fg='yellow')} {paint(shorten(reason.why, WHY_WIDTH))}"
