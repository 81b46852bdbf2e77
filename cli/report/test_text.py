"""What `test` and `fix --write-test` say about the files they wrote."""

from collections.abc import Iterator

from ...analysis.regression.review import render_review
from ...analysis.regression.writer import WrittenTest
from ..output import Paint


def render_written(written: WrittenTest, paint: Paint) -> Iterator[str]:
    """Yields the lines about a test and the case beside it: look it over before you commit it."""
    yield f"wrote {paint(str(written.test))}"
    yield f"      {paint(str(written.case))}"
    for line in render_review(written.review):
        yield paint(f"      {line}", dim=True)
