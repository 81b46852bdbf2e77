"""An experiment told again from the replies that were paid for: no model is asked, and nothing is written.

That is how a report shows what `why` believed about each piece, long after it ran and without the model.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ..ingest.calls import Body
from ..ingest.errors import UpstreamError
from ..ingest.spans import Span
from ..ingest.store import Store
from .attribution.methods.judge import question
from .attribution.problem import Options
from .attribution.why import WhyReport, find_cause
from .canonical import digest
from .cases import Case
from .desk import REPLY_FILE, Desk
from .replay.budget import Budget
from .replay.completion import Completion, Provider
from .replay.limits import Limits
from .replay.models import ModelChoice
from .segments import segment


class Remembered:
    """A provider whose replies are all known already."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.batch = 1

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """Raises UpstreamError: nothing is asked when an experiment is recalled."""
        raise UpstreamError("an experiment that is recalled asks no model")

    async def aclose(self) -> None:
        """Holds nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledModel(ModelChoice):
    """The model that answered at the time."""

    endpoint: str

    def open(self, case: Case) -> Provider:
        """Returns the provider, whatever the case."""
        return Remembered(self.endpoint)

    def limits(self, case: Case) -> Limits:
        """Returns none: nothing is sent."""
        return Limits()


@dataclass
class RecallDesk(Desk):
    """A desk that keeps nothing: it is all in the store."""

    def write(self, spans: Sequence[Span]) -> None:
        """Writes nothing."""


def recall_why(store: Store, case: Case) -> WhyReport | None:
    """Returns what `why` found about a case, from stored replies alone; None when there are none."""
    cut = segment(case.api, case.request)
    endpoint = _endpoint_of(store, digest(cut.body))
    if endpoint is None:
        return None
    desk = RecallDesk(store=store, model=RecalledModel(endpoint=endpoint), budget=Budget(0))
    was_asked = _endpoint_of(store, digest(question(case, cut))) == endpoint
    return asyncio.run(find_cause(desk, case, Options(), ask=was_asked))


def _endpoint_of(store: Store, request_digest: str) -> str | None:
    """Returns the endpoint that has answered a request most often."""
    path = store.path / REPLY_FILE
    if not path.exists():
        return None
    query = "SELECT endpoint FROM replies WHERE request = ? GROUP BY endpoint ORDER BY count(*) DESC, endpoint LIMIT 1"
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        row: tuple[str] | None = db.execute(query, (request_digest,)).fetchone()
    finally:
        db.close()
    return row[0] if row else None
